package node

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// interfaceRequest is the argument of network interface ioctls (struct ifreq in linux/if.h).
type interfaceRequest struct {
	name [syscall.IFNAMSIZ]byte
	data [24]byte
}

// setUpLoopback brings up the loopback interface, and adds the service address of the API server.
func setUpLoopback(serviceIP string) error {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open a socket: %w", err)
	}
	defer func() { _ = syscall.Close(socket) }()
	request := func(number uintptr, name string, fill func(data *[24]byte)) error {
		var r interfaceRequest
		copy(r.name[:], name)
		fill(&r.data)
		//nolint:gosec // the standard library has no other way to set this
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(socket), number, uintptr(unsafe.Pointer(&r))); errno != 0 {
			return os.NewSyscallError("ioctl "+name, errno)
		}
		return nil
	}
	address := func(ip net.IP) func(*[24]byte) {
		return func(data *[24]byte) { // struct sockaddr_in
			*(*uint16)(unsafe.Pointer(&data[0])) = syscall.AF_INET //nolint:gosec // in host byte order
			copy(data[4:8], ip.To4())
		}
	}
	up := func(data *[24]byte) {
		*(*uint16)(unsafe.Pointer(&data[0])) = syscall.IFF_UP | syscall.IFF_RUNNING //nolint:gosec // in host byte order
	}
	if err := request(syscall.SIOCSIFFLAGS, "lo", up); err != nil {
		return err
	}
	// Additional addresses of an interface need a label.
	const label = "lo:1"
	if err := request(syscall.SIOCSIFADDR, label, address(net.ParseIP(serviceIP))); err != nil {
		return err
	}
	return request(syscall.SIOCSIFNETMASK, label, address(net.IPv4bcast))
}
