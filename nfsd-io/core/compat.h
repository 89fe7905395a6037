/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernel numbers newer than the headers we build with; the kernel may still refuse each of them. */
#ifndef CORE_COMPAT_H
#define CORE_COMPAT_H

#include <fcntl.h>
#include <linux/ioctl.h>
#include <linux/types.h>

#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x80 /* Linux 6.14 */
#endif

#define COMPAT_SEND_ZC_REPORT_USAGE 8 /* io_uring, Linux 6.2: in ioprio of SEND_ZC ... */
#define COMPAT_NOTIF_USAGE_ZC_COPIED (1u << 31) /* ... and in res of its notification */

/* statx: masks, and where in struct statx (always 256 bytes) the fields lie. */
#define COMPAT_STATX_DIOALIGN 0x2000	  /* Linux 6.1 */
#define COMPAT_STATX_DIO_READ_ALIGN 0x20000 /* Linux 6.14 */
#define COMPAT_STATX_SUBVOL 0x8000	    /* Linux 6.10 */
#define COMPAT_STATX_SIZE 256
#define COMPAT_STATX_SUBVOL_AT 0xa0
#define COMPAT_STATX_DIO_MEM_AT 0x98
#define COMPAT_STATX_DIO_OFFSET_AT 0x9c
#define COMPAT_STATX_DIO_READ_AT 0xb4

#ifndef AT_HANDLE_FID
#define AT_HANDLE_FID 0x200 /* Linux 6.5: an identity that need not be openable */
#endif

/* File system UUID: any file system since Linux 6.9, ext4 since 6.0, XFS always. */
struct compat_fsuuid2 {
	__u8 len;
	__u8 uuid[16];
};
#define COMPAT_FS_IOC_GETFSUUID _IOR(0x15, 0, struct compat_fsuuid2)

struct compat_ext4_fsuuid {
	__u32 len, flags;
	__u8 uuid[16];
};
/* The kernel's size counts the two words only: the array is flexible there. */
#define COMPAT_EXT4_IOC_GETFSUUID _IOC(_IOC_READ, 'f', 44, 8)

struct compat_xfs_geom_v1 {
	__u32 sizes[8];
	__u64 blocks[4];
	__u8 uuid[16];
	__u32 rest[7];
};
#define COMPAT_XFS_IOC_FSGEOMETRY_V1 _IOR('X', 100, struct compat_xfs_geom_v1)

#endif
