/* SPDX-License-Identifier: MIT */
/* What can be set of a datagram socket: its peer, groups, hops. */
#include "net/address.h"
#include "net/udp.h"

#include <errno.h>
#include <string.h>

/* One setting; level -1 connects to the address, AF_UNSPEC disconnects. */
struct setting {
    int family; /* that it is for; AF_UNSPEC: any */
    int level;
    int name;
    const void *value;
    socklen_t size;
};

/* The system says ENODEV of an interface that is not there. */
static jzx_err status_of(int failed) {
    return failed == 0         ? JZX_OK
           : failed == -ENODEV ? JZX_ERR_NOT_FOUND
                               : jzx__os_error_status(-failed);
}

static in_port_t port_of(const struct jzx__address *address) {
    return address->any.sa_family == AF_INET6 ? address->v6.sin6_port : address->v4.sin_port;
}

static bool is_wildcard(const struct jzx__address *address) {
    return address->any.sa_family == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED(&address->v6.sin6_addr)
                                              : address->v4.sin_addr.s_addr == htonl(INADDR_ANY);
}

static void set_port(struct jzx__address *address, in_port_t port) {
    if (address->any.sa_family == AF_INET6)
        address->v6.sin6_port = port;
    else
        address->v4.sin_port = port;
}

static int get_local(const struct jzx__os *os, int fd, struct jzx__address *address) {
    address->size = sizeof address->v6;
    return os->getsockname(fd, &address->any, &address->size);
}

/* Linux gives up a port that the system has chosen, and an address that came with the peer. The
 * port is taken again, on that address: 0 or the negative errno. `unspecified` disconnects. An
 * address that was asked for stays; it is taken as it was before, with its interface. */
static int disconnect(const struct jzx__os *os, int fd, const struct setting *unspecified) {
    struct jzx__address before;
    struct jzx__address now;
    int err = get_local(os, fd, &before);
    if (err == 0)
        err = os->connect(fd, unspecified->value, unspecified->size);
    if (err == 0)
        err = get_local(os, fd, &now);
    if (err < 0 || port_of(&now) == port_of(&before))
        return err;
    if (is_wildcard(&now))
        set_port(&now, port_of(&before));
    else
        now = before;
    return os->bind(fd, &now.any, now.size);
}

static jzx_err apply(struct jzx__udp *udp, const struct setting *setting) {
    const struct jzx__os *os = jzx__socket_os(&udp->socket);
    int fd = jzx__socket_fd(&udp->socket);
    if (setting->family != AF_UNSPEC && setting->family != udp->family)
        return JZX_ERR_INVALID_ARG;
    if (setting->level < 0 && setting->family == AF_UNSPEC)
        return status_of(disconnect(os, fd, setting));
    return status_of(setting->level < 0 ? os->connect(fd, setting->value, setting->size)
                                        : os->setsockopt(fd, setting->level, setting->name,
                                                         setting->value, setting->size));
}

/* The first of the settings that is for the family of the socket. */
static jzx_err set(jzx_loop *loop, jzx_udp handle, const struct setting *settings, size_t count) {
    struct jzx__visit visit;
    jzx_err err = JZX_ERR_INVALID_ARG;
    if (loop == NULL)
        return err;
    (void)jzx__loop_visit(loop, &visit);
    struct jzx__udp *udp = jzx__udp_acquire(loop, handle);
    if (udp != NULL) {
        size_t i = 0;
        while (i + 1 < count && settings[i].family != udp->family)
            i++;
        err = apply(udp, &settings[i]);
        jzx__lock_release(&udp->socket.lock);
    }
    jzx__visit_end(&visit);
    return udp == NULL ? JZX_ERR_CLOSED : err;
}

jzx_err jzx_udp_connect(jzx_loop *loop, jzx_udp udp, const char *peer) {
    struct jzx__address address = {.any = {.sa_family = AF_UNSPEC}, .size = sizeof address.any};
    jzx_err err = peer == NULL ? JZX_OK : jzx__address_parse(peer, &address);
    const struct setting setting = {address.any.sa_family, -1, 0, &address.any, address.size};
    return err != JZX_OK ? err : set(loop, udp, &setting, 1);
}

/* ---- multicast ---- */

/* NULL: the system chooses one. */
static jzx_err find_interface(const char *name, uint32_t *number) {
    *number = 0;
    if (name == NULL)
        return JZX_OK;
    return jzx__address_interface(name, number) && *number <= INT32_MAX ? JZX_OK
                                                                        : JZX_ERR_NOT_FOUND;
}

static jzx_err set_membership(jzx_loop *loop, jzx_udp udp, const char *group, const char *interface,
                              bool joins) {
    struct jzx__address address;
    uint32_t number;
    jzx_err err = jzx__address_parse_host(group, &address);
    if (err == JZX_OK)
        err = find_interface(interface, &number);
    if (err != JZX_OK)
        return err;
    if (address.any.sa_family == AF_INET) {
        const struct ip_mreqn request = {.imr_multiaddr = address.v4.sin_addr,
                                         .imr_ifindex = (int)number};
        const struct setting setting = {AF_INET, IPPROTO_IP,
                                        joins ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP, &request,
                                        sizeof request};
        return set(loop, udp, &setting, 1);
    }
    const struct ipv6_mreq request = {.ipv6mr_multiaddr = address.v6.sin6_addr,
                                      .ipv6mr_interface =
                                          number != 0 ? number : address.v6.sin6_scope_id};
    const struct setting setting = {AF_INET6, IPPROTO_IPV6,
                                    joins ? IPV6_ADD_MEMBERSHIP : IPV6_DROP_MEMBERSHIP, &request,
                                    sizeof request};
    return set(loop, udp, &setting, 1);
}

jzx_err jzx_udp_join(jzx_loop *loop, jzx_udp udp, const char *group, const char *interface) {
    return set_membership(loop, udp, group, interface, true);
}

jzx_err jzx_udp_leave(jzx_loop *loop, jzx_udp udp, const char *group, const char *interface) {
    return set_membership(loop, udp, group, interface, false);
}

/* An option that both families have under their own names. */
static jzx_err set_either(jzx_loop *loop, jzx_udp udp, int name_v4, int name_v6, int value) {
    const struct setting settings[2] = {
        {AF_INET, IPPROTO_IP, name_v4, &value, sizeof value},
        {AF_INET6, IPPROTO_IPV6, name_v6, &value, sizeof value},
    };
    return set(loop, udp, settings, 2);
}

jzx_err jzx_udp_set_multicast_ttl(jzx_loop *loop, jzx_udp udp, uint32_t ttl) {
    if (ttl > UINT8_MAX)
        return JZX_ERR_INVALID_ARG;
    return set_either(loop, udp, IP_MULTICAST_TTL, IPV6_MULTICAST_HOPS, (int)ttl);
}

jzx_err jzx_udp_set_multicast_loop(jzx_loop *loop, jzx_udp udp, bool on) {
    return set_either(loop, udp, IP_MULTICAST_LOOP, IPV6_MULTICAST_LOOP, on);
}

jzx_err jzx_udp_set_multicast_interface(jzx_loop *loop, jzx_udp udp, const char *interface) {
    uint32_t number;
    jzx_err err = find_interface(interface, &number);
    const struct ip_mreqn request = {.imr_ifindex = (int)number};
    const struct setting settings[2] = {
        {AF_INET, IPPROTO_IP, IP_MULTICAST_IF, &request, sizeof request},
        {AF_INET6, IPPROTO_IPV6, IPV6_MULTICAST_IF, &number, sizeof number},
    };
    return err != JZX_OK ? err : set(loop, udp, settings, 2);
}

jzx_err jzx_udp_set_ttl(jzx_loop *loop, jzx_udp udp, uint32_t ttl) {
    if (ttl == 0 || ttl > UINT8_MAX)
        return JZX_ERR_INVALID_ARG;
    return set_either(loop, udp, IP_TTL, IPV6_UNICAST_HOPS, (int)ttl);
}

jzx_err jzx_udp_set_broadcast(jzx_loop *loop, jzx_udp udp, bool on) {
    const int value = on;
    const struct setting setting = {AF_UNSPEC, SOL_SOCKET, SO_BROADCAST, &value, sizeof value};
    return set(loop, udp, &setting, 1);
}
