/* Makes one system call of a program go wrong: the FAULT_AT-th that touches files is failed, or the program is
 * killed before it, or, if it writes, halfway through it. Without FAULT_AT a letter for each call is written into
 * FAULT_CALLS: w for those that write, c and l for those after whose failure nothing may be left behind, of which l
 * locks, o for others. To be killed after a call is to be killed before the next. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static long calls;
static char letters[1 << 16];
static long at = -1;
static const char *how = "";

__attribute__((constructor)) static void begin(void) {
    const char *number = getenv("FAULT_AT");
    if (number) at = atol(number);
    if (getenv("FAULT_HOW")) how = getenv("FAULT_HOW");
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("FAULT_CALLS");
    if (!path) return;
    FILE *file = fopen(path, "w");
    if (!file) return;
    fputs(letters, file);
    fclose(file);
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* Whether this call is the one. */
static int is_it(char letter) {
    long call = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
    if (call < (long)sizeof letters) letters[call - 1] = letter;
    return call == at;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define FAULTY(failure, call) FAULTY_AS('o', failure, call)
#define FAULTY_AS(letter, failure, call)                                         \
    do {                                                                         \
        if (!is_it(letter)) return call;                                         \
        if (strcmp(how, "fail")) die();                                          \
        errno = failure;                                                         \
        return -1;                                                               \
    } while (0)

/* Only the files of the test, which are named without a folder. */
static int is_ours(const char *path) { return path[0] != '/'; }

#define OPEN(name)                                                               \
    int name(const char *path, int flags, ...) {                                 \
        mode_t mode = 0;                                                         \
        if (flags & (O_CREAT | O_TMPFILE)) {                                     \
            va_list list;                                                        \
            va_start(list, flags);                                               \
            mode = va_arg(list, mode_t);                                         \
            va_end(list);                                                        \
        }                                                                        \
        if (!is_ours(path)) return REAL(name)(path, flags, mode);                \
        FAULTY(EIO, REAL(name)(path, flags, mode));                              \
    }
OPEN(open)
OPEN(open64)

ssize_t write(int fd, const void *bytes, size_t count) {
    struct stat about;
    if (fd == 2 || fstat(fd, &about) || !S_ISREG(about.st_mode)) return REAL(write)(fd, bytes, count);
    if (!is_it('w')) return REAL(write)(fd, bytes, count);
    if (!strcmp(how, "half")) REAL(write)(fd, bytes, count / 2);
    if (strcmp(how, "fail")) die();
    errno = ENOSPC;
    return -1;
}

int fsync(int fd) { FAULTY(EIO, REAL(fsync)(fd)); }
int fdatasync(int fd) { FAULTY(EIO, REAL(fdatasync)(fd)); }
int rename(const char *from, const char *to) { FAULTY(EIO, REAL(rename)(from, to)); }
int unlink(const char *path) { FAULTY(EIO, REAL(unlink)(path)); }
int ftruncate(int fd, off_t length) { FAULTY(EIO, REAL(ftruncate)(fd, length)); }
int ftruncate64(int fd, off64_t length) { FAULTY(EIO, REAL(ftruncate64)(fd, length)); }
int fchmod(int fd, mode_t mode) { FAULTY_AS('c', EIO, REAL(fchmod)(fd, mode)); }
int flock(int fd, int what) { FAULTY_AS('l', ENOLCK, REAL(flock)(fd, what)); }
