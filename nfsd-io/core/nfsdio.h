/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libnfsdio: asynchronous READ, WRITE and COMMIT of files with the semantics
 * of NFS and nfsd-io's direct-I/O alignment policy.
 *
 * An instance owns one or more threads, each with an io_uring (or, where that
 * is refused, a thread pool).  Every function may be called from any thread
 * and does not wait for I/O; completions are told by a callback on one of the
 * library's threads, which may start further operations but must not block.
 * Functions return 0 or -errno.  See nfsdio(3).
 *
 * With NFSDIO_ENGINE_INLINE there are no such threads: an operation is carried
 * out by the thread that starts it, and its callback called, before the
 * function returns.  For programs whose threads would only wait for it.
 * NFSDIO_ENGINE_MIXED does so where that is one step, and hands the WRITEs that
 * would wait for each other, cut in pieces or at the end of a file that grows,
 * to the instance's threads.
 */
#ifndef NFSDIO_H
#define NFSDIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NFSDIO_API __attribute__((visibility("default")))

struct nfsdio;
struct nfsdio_file;
struct nfsdio_cred;

enum nfsdio_engine {
	NFSDIO_ENGINE_AUTO,
	NFSDIO_ENGINE_IO_URING,
	NFSDIO_ENGINE_THREADS,
	NFSDIO_ENGINE_INLINE,
	NFSDIO_ENGINE_MIXED
};
enum nfsdio_mode { NFSDIO_BUFFERED, NFSDIO_DONTCACHE, NFSDIO_DIRECT };
enum nfsdio_rule { NFSDIO_SEED, NFSDIO_PAGE, NFSDIO_MAINLINE, NFSDIO_DONTCACHE_ENDS };
/* RFC 1813 stable_how */
enum nfsdio_stable { NFSDIO_UNSTABLE, NFSDIO_DATA_SYNC, NFSDIO_FILE_SYNC };
enum nfsdio_direction { NFSDIO_READ, NFSDIO_WRITE };

struct nfsdio_params {
	enum nfsdio_engine engine;
	unsigned threads;   /* 0 = 1; INLINE: none */
	uint32_t max_io;    /* bytes of the largest READ or WRITE; 0 = 1 MiB */
	/*
	 * in flight per thread, and (INLINE, MIXED) on all the callers' own
	 * together; more waits its turn; 0 = 16 MiB
	 */
	uint64_t max_bytes;
};

struct nfsdio_file_params {
	enum nfsdio_mode read_mode, write_mode;
	enum nfsdio_rule rule;
	uint32_t read_direct_min; /* bytes; misaligned READs below it go buffered */
	uint32_t min_middle;	  /* bytes; a WRITE with a smaller aligned middle is not split */
};

#define NFSDIO_FILE_PARAMS_DEFAULT { NFSDIO_DIRECT, NFSDIO_DIRECT, NFSDIO_PAGE, 32768, 0 }

/* How an operation ended; valid during the callback. */
struct nfsdio_result {
	int res;		       /* bytes, 0 for COMMIT; or -errno */
	/* READ: what was read ends at or after the end of the file */
	bool eof;
	enum nfsdio_stable committed;  /* WRITE: as asked or stronger */
	uint64_t verifier;	       /* WRITE, COMMIT: the write verifier to tell the client */
	const struct stat *st;	       /* the file afterwards; NULL when unknown */
	const char *decision;	       /* READ, WRITE: "ALIGNED", "SPLIT", ...; static */
};

typedef void nfsdio_done(void *arg, const struct nfsdio_result *r);

/* `p` NULL: all defaults. */
NFSDIO_API int nfsdio_new(struct nfsdio **out, const struct nfsdio_params *p);
/*
 * Waits for what is in flight; files still open may only be
 * closed after.  Not from a callback.  NULL is fine.
 */
NFSDIO_API void nfsdio_free(struct nfsdio *n);
/* "io_uring: ..." or "threads: ..." and why; valid while the instance is. */
NFSDIO_API const char *nfsdio_engine(const struct nfsdio *n);
/* One per instance; changes after any write-back error. */
NFSDIO_API uint64_t nfsdio_verifier(const struct nfsdio *n);

/*
 * Open a regular file; `flags` as open(2): O_RDONLY or O_RDWR, O_CREAT, ...
 * `p` NULL: NFSDIO_FILE_PARAMS_DEFAULT.  Blocks.
 */
NFSDIO_API int nfsdio_file_open(struct nfsdio *n, struct nfsdio_file **out, const char *path,
				int flags, mode_t mode, const struct nfsdio_file_params *p);
/*
 * Use descriptors that are open already and stay the caller's; they must
 * outlive the file.  `direct_fd`: the same file opened O_DIRECT, or -1.
 */
NFSDIO_API int nfsdio_file_wrap(struct nfsdio *n, struct nfsdio_file **out, int fd, int direct_fd,
				const struct nfsdio_file_params *p);
/*
 * -EBUSY while operations are in flight.  Does not sync:
 * COMMIT or nfsdio_file_sync() first.  NULL is fine.
 */
NFSDIO_API int nfsdio_file_close(struct nfsdio_file *f);
/*
 * Other modes from now on; counters go on.  -EBUSY while
 * operations are in flight; start none meanwhile.
 */
NFSDIO_API int nfsdio_file_configure(struct nfsdio_file *f, const struct nfsdio_file_params *p);
/*
 * Make stable what UNSTABLE WRITEs have left that no COMMIT has covered, as a
 * last step before a file is closed.  Blocks; 0 at once when there is nothing.
 * A failure changes the verifier.
 */
NFSDIO_API int nfsdio_file_sync(struct nfsdio_file *f);
/*
 * How many flushes of this file have failed since it was opened.  Asked after
 * a COMMIT that succeeded, it counts each that may have lost what the COMMIT
 * was for: for those who cannot tell their clients a verifier that changes.
 */
NFSDIO_API uint64_t nfsdio_file_sync_failures(const struct nfsdio_file *f);

/*
 * Who a WRITE acts as, so that set-user-ID bits are cleared and quotas hold:
 * file system uid, gid and supplementary groups.  Counted by the operations
 * that use it: may be freed right after they were started.  Without the
 * privilege to switch (CAP_SETUID, CAP_SETGID) it changes nothing.
 */
NFSDIO_API int nfsdio_cred_new(struct nfsdio_cred **out, uid_t uid, gid_t gid, const gid_t *gids,
			       unsigned ngids);
/* NULL is fine. */
NFSDIO_API void nfsdio_cred_free(struct nfsdio_cred *c);

/*
 * Start.  Buffers are the caller's and stay valid until `done`, which is
 * called exactly once when 0 was returned, and never otherwise (-EINVAL: more
 * than max_io; -ENOMEM).  An aligned READ into page-aligned memory, and a
 * WRITE whose memory is congruent to its offset modulo the page size, are
 * carried out in place (modulo 512 or 4 bytes will do where the device says
 * so); others are copied once.
 */
NFSDIO_API int nfsdio_read(struct nfsdio_file *f, void *buf, uint32_t count, uint64_t offset,
			   nfsdio_done *done, void *arg);
NFSDIO_API int nfsdio_write(struct nfsdio_file *f, const void *buf, uint32_t count, uint64_t offset,
			    enum nfsdio_stable stable, nfsdio_done *done, void *arg);
/*
 * The same with memory in up to IOV_MAX pieces, which the operation reads as
 * long as it lasts (the array too), and a WRITE as `cred` (NULL: as the
 * process).  One piece is as above; several are copied once.
 */
NFSDIO_API int nfsdio_readv(struct nfsdio_file *f, const struct iovec *iov, int iovcnt,
			    uint64_t offset, nfsdio_done *done, void *arg);
NFSDIO_API int nfsdio_writev(struct nfsdio_file *f, const struct iovec *iov, int iovcnt,
			     uint64_t offset, enum nfsdio_stable stable,
			     const struct nfsdio_cred *cred, nfsdio_done *done, void *arg);
NFSDIO_API int nfsdio_commit(struct nfsdio_file *f, uint64_t offset, uint32_t count,
			     nfsdio_done *done, void *arg);

/* In words, what would be done; a text of up to `size` bytes with its NUL, cut when longer. */
NFSDIO_API void nfsdio_explain(const struct nfsdio_file *f, enum nfsdio_direction d,
			       uint64_t offset, uint32_t count, char *text, size_t size);

#define NFSDIO_DECISIONS 16

struct nfsdio_stats {
	uint64_t ops[2][NFSDIO_DECISIONS];   /* [direction][decision] */
	uint64_t bytes[2][3];		     /* moved, [direction][nfsdio_mode it went by] */
	uint64_t payload[2];		     /* asked for and done */
	uint64_t head, middle, tail;	     /* bytes of split WRITEs */
	uint64_t expand;		     /* READ: bytes beyond what was asked */
	uint64_t fallback_direct;	     /* direct refused, done buffered */
	uint64_t fallback_eio;		     /* direct READ failed, done buffered */
	uint64_t fallback_dontcache, continued, syncs;
	uint64_t errors[2];
	uint64_t handed[2];		     /* operations handed to a thread of the instance's */
};

NFSDIO_API void nfsdio_file_stats(const struct nfsdio_file *f, struct nfsdio_stats *out);
/* Name of decision `i`, or NULL beyond the last. */
NFSDIO_API const char *nfsdio_decision_name(unsigned i);

#ifdef __cplusplus
}
#endif

#endif
