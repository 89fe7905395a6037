/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What ganesha's own build would have put into its config.h, as far as its
 * headers look at it.  Found before ours, for the plugin alone.
 */
#ifndef GANESHA_CONFIG_H
#define GANESHA_CONFIG_H

#define LINUX 1
#define _HAVE_GSSAPI 1
#define HAVE_STRNLEN 1
#define GSH_CAN_HOST_LOCAL_FS 1
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LITTLEEND 1
#endif

#endif
