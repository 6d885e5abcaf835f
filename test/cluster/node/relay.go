package node

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
)

// relay passes connections on from one address to another, as long as the process
// lives. A network and an address are as net.Dial takes them.
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
		return // whoever called sees the connection close
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

// pass copies one direction of a connection, and its end.
func pass(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if half, is := to.(interface{ CloseWrite() error }); is && err == nil {
		_ = half.CloseWrite()
		return
	}
	// Nothing more comes in this direction, and the other may wait for ever.
	_ = to.Close()
	_ = from.Close()
}
