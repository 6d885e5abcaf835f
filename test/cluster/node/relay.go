package node

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
)

// relay listens on one address, and forwards connections to another address. It runs in the
// background until the process exits. Networks and addresses are as in net.Dial.
func relay(fromNetwork, from, toNetwork, to string) error {
	if fromNetwork == "unix" {
		if err := os.Remove(from); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	listener, err := net.Listen(fromNetwork, from)
	if err != nil {
		return err
	}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go connect(near, toNetwork, to)
		}
	}()
	return nil
}

func connect(near net.Conn, network, address string) {
	defer func() { _ = near.Close() }()
	far, err := net.Dial(network, address)
	if err != nil {
		return // the client sees the connection close
	}
	defer func() { _ = far.Close() }()
	answered := make(chan struct{})
	go func() {
		pass(near, far)
		close(answered)
	}()
	pass(far, near)
	<-answered
}

// pass forwards data until the source ends, and then closes the write side of the destination.
func pass(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if half, is := to.(interface{ CloseWrite() error }); is && err == nil {
		_ = half.CloseWrite()
		return
	}
	// Close both connections. Otherwise, the other direction could wait forever.
	_ = to.Close()
	_ = from.Close()
}
