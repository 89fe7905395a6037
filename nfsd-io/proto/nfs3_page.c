/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/proto/nfs3_page.h"

bool v3_page_init(struct v3_page *p, uint32_t max, uint32_t dir_max)
{
	*p = (struct v3_page){.max = max, .dir_max = dir_max, .used = V3_PAGE_EMPTY};
	return max >= V3_PAGE_EMPTY;
}

bool v3_page_take(struct v3_page *p, uint32_t name_len, uint32_t extra)
{
	uint32_t info = 8 + 4 + ((name_len + 3) & ~3u) + 8; /* fileid, name, cookie */

	if (info + 4 + extra > p->max - p->used) /* 4: "another entry follows" */
		return false;
	if (p->dir_max && p->entries &&
	    (p->dir_used >= p->dir_max || info > p->dir_max - p->dir_used))
		return false;
	p->used += info + 4 + extra;
	p->dir_used += info;
	p->entries++;
	return true;
}
