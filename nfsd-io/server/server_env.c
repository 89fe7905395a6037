/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the protocol needs from the process: made before the workers, freed after them. */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "nfsd-io/proto/idmap.h"
#include "nfsd-io/proto/mountlist.h"
#include "nfsd-io/proto/state4.h"
#include "nfsd-io/server/back.h"
#include "nfsd-io/server/log.h"
#include "nfsd-io/server/server_int.h"

static int complain(int err, const char *what, const char *why)
{
	log_line(LOG_ERR, "%s: %s", what, why);
	return err;
}

static struct export_table *env_exports(void *arg)
{
	return server_exports(arg);
}

static int env_groups(void *arg, uid_t uid, gid_t gid, gid_t **gids, unsigned *n)
{
	struct server *s = arg;

	return groups_lookup(s->groups, uid, gid, gids, n);
}

static int env_call(void *arg, struct back_call *b)
{
	struct server *s = arg;

	return back_send(s->conns, b);
}

static int make_state(struct server *s, const struct conf *c)
{
	struct state4_params p = {
		.lease_s = c->lease_s,
		.grace_s = c->grace_s,
		.state_dir = c->state_dir,
		.max_read = c->max_read,
		.max_write = c->max_write,
		.log = log_env,
		.call = env_call,
		.arg = s,
	};
	int err;

	s->env.versions_off = (c->vers3 ? 0 : REQ_VERS3) | (c->vers40 ? 0 : REQ_VERS4(0)) |
			      (c->vers41 ? 0 : REQ_VERS4(1)) | (c->vers42 ? 0 : REQ_VERS4(2));
	if (!c->vers4 || (s->env.versions_off & REQ_VERS4_ALL) == REQ_VERS4_ALL)
		return 0;
	err = state4_new(&s->env.state, &p);
	if (!err)
		s->sweeping = state4_active(s->env.state); /* grace passes, whoever comes */
	return err;
}

int server_env_make(struct server *s, const struct conf *c)
{
	struct fdcache_params fp = {.max_files = s->fds.files};
	struct proto_env *env = &s->env;
	struct drc_params dp = {.conn_alive = connreg_alive};
	int err;

	env->arg = s;
	env->exports = env_exports;
	env->groups = env_groups;
	env->log = log_env;
	env->max_read = c->max_read;
	env->max_write = c->max_write;
	env->manage_gids = c->manage_gids;
	env->slow_ns = c->log_slow_ns;
	env->state_dir = c->state_dir;
	verifier_init(&env->verifier);
	if (mkdir(c->state_dir, 0755) && errno != EEXIST)
		return complain(-errno, c->state_dir, strerror(errno));
	err = handle_key_load(&env->key, c->key_file);
	if (err) {
		if (err == -EPERM || err == -EINVAL) /* not a key, not a secret */
			s->status = EXIT_CONF;
		return complain(err, c->key_file, handle_key_why(err));
	}
	err = connreg_new(&s->conns);
	if (!err)
		err = groups_new(&s->groups);
	if (!err && c->idmap_names)
		err = idmap_new(&env->idmap, c->domain);
	if (!err)
		err = mountlist_new(&env->mounts);
	if (!err)
		err = offload_new(&env->offload, 0);
	dp.arg = s->conns;
	if (!err)
		err = drc_new(&env->drc, &dp);
	fp.offload = env->offload;
	fp.verifier = &env->verifier;
	if (!err)
		err = fdcache_new(&env->files, &fp);
	if (!err)
		err = make_state(s, c);
	return err ? complain(err, "start", process_why(err)) : 0;
}

void server_env_free(struct proto_env *env)
{
	if (env->state)
		state4_free(env->state); /* it holds files */
	if (env->files)
		fdcache_free(env->files);
	if (env->offload)
		offload_free(env->offload);
	if (env->drc)
		drc_free(env->drc);
	if (env->mounts)
		mountlist_free(env->mounts);
	idmap_free(env->idmap);
	if (env->key)
		handle_key_free(env->key);
}
