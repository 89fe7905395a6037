/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/notify.h"

#include <stdio.h>
#include <time.h>

#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>
#else
#define sd_notify(unset, state) ((void)(state))
#endif

void notify_ready(const char *status)
{
	char text[512];

	snprintf(text, sizeof(text), "READY=1\nSTATUS=%s", status);
	sd_notify(0, text);
}

void notify_reloading(void)
{
	struct timespec ts;
	char text[80];

	clock_gettime(CLOCK_MONOTONIC, &ts);
	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%lld",
		 (long long)ts.tv_sec * 1000000 + ts.tv_nsec / 1000);
	sd_notify(0, text);
}

void notify_stopping(void)
{
	sd_notify(0, "STOPPING=1");
}
