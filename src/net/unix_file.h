/* SPDX-License-Identifier: MIT */
/* The file of a Unix socket that listens, known by its directory, name, device and inode. A
 * listener that is closed removes that file, also after a chdir(2), and no other that has the name
 * by then.
 *
 * The number of an inode is unique only while the socket is open, which keeps the inode. So a file
 * is removed before its socket is shut down or closed. */
#ifndef JZX_NET_UNIX_FILE_H
#define JZX_NET_UNIX_FILE_H

#include "io/os.h"
#include "net/address.h"

struct jzx__unix_file {
    int dir; /* descriptor of the directory */
    dev_t device;
    ino_t inode;
    char name[sizeof((struct sockaddr_un *)NULL)->sun_path];
};

/* Binds the socket to the path. A socket that nobody has open any more gives way; everything else
 * that lies there, or takes the place of the file at once, stays as it is: -EADDRINUSE. mode: of
 * the file; 0: as the umask says. 0, or the negative errno: nothing has happened. */
int jzx__unix_file_bind(const struct jzx__os *os, int fd, const struct jzx__address *address,
                        mode_t mode, struct jzx__unix_file *file);

/* The last call: removes the file if it is still there. */
void jzx__unix_file_remove(const struct jzx__os *os, const struct jzx__unix_file *file);

#endif
