/* SPDX-License-Identifier: MIT */
/* The file of a Unix socket that listens. It is known by its directory, its name there, its device
 * and its inode: a listener that is closed removes that file, wherever the process works by then,
 * and no other that has come to the name since.
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
 * that lies there stays: -EADDRINUSE. 0, or the negative errno: nothing has happened. */
int jzx__unix_file_bind(const struct jzx__os *os, int fd, const struct jzx__address *address,
                        struct jzx__unix_file *file);

int jzx__unix_file_set_mode(const struct jzx__os *os, const struct jzx__unix_file *file,
                            mode_t mode);

/* The last call: removes the file if it is still there. */
void jzx__unix_file_remove(const struct jzx__os *os, const struct jzx__unix_file *file);

#endif
