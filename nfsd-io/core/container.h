/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From a member to the structure it is embedded in. */
#ifndef CORE_CONTAINER_H
#define CORE_CONTAINER_H

#include <stddef.h>

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#endif
