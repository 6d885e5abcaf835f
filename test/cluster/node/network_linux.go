package node

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// setUpLoopback brings up the loopback interface, and adds the service address of the API server.
func setUpLoopback(serviceIP string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open a socket: %w", err)
	}
	defer func() { _ = unix.Close(socket) }()
	up, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	up.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, up); err != nil {
		return os.NewSyscallError("ioctl lo", err)
	}
	// Additional addresses of an interface need a label.
	address, err := unix.NewIfreq("lo:1")
	if err != nil {
		return err
	}
	for _, set := range []struct {
		request uint
		ip      net.IP
	}{{unix.SIOCSIFADDR, net.ParseIP(serviceIP)}, {unix.SIOCSIFNETMASK, net.IPv4bcast}} {
		if err := address.SetInet4Addr(set.ip.To4()); err != nil {
			return err
		}
		if err := unix.IoctlIfreq(socket, set.request, address); err != nil {
			return os.NewSyscallError("ioctl lo:1", err)
		}
	}
	return nil
}
