package main

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/tools/clientcmd"
)

// meter is a proxy between one program and the API server. It counts the encrypted
// bytes that the server sends.
type meter struct {
	listener net.Listener
	server   string
	// kubeconfig is the kubeconfig of the account, with the address of the meter.
	kubeconfig string
	received   atomic.Int64
	running    sync.WaitGroup
}

// newMeter starts a meter.
func (b *bench) newMeter() (*meter, error) {
	config, err := clientcmd.LoadFromFile(b.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	// The name must not contain a colon because KUBECONFIG is a list.
	m := &meter{listener: l, kubeconfig: filepath.Join(b.scratch, "metered-"+strings.ReplaceAll(l.Addr().String(), ":", "-"))}
	for _, cluster := range config.Clusters {
		server, err := url.Parse(cluster.Server)
		if err != nil {
			return nil, fmt.Errorf("read the address of the server: %w", err)
		}
		m.server = server.Host
		cluster.Server = "https://" + l.Addr().String()
	}
	if err := clientcmd.WriteToFile(*config, m.kubeconfig); err != nil {
		return nil, err
	}
	m.running.Go(m.accept)
	return m, nil
}

func (m *meter) accept() {
	for {
		client, err := m.listener.Accept()
		if err != nil {
			return // the listener was closed
		}
		m.running.Go(func() { m.relay(client) })
	}
}

// relay copies the data in both directions until one side closes its connection.
func (m *meter) relay(client net.Conn) {
	defer func() { _ = client.Close() }() // fails if the program has closed it
	server, err := net.Dial("tcp", m.server)
	if err != nil {
		return // the program gets a connection error
	}
	defer func() { _ = server.Close() }()
	m.running.Go(func() {
		_, _ = io.Copy(server, client) // the program notices errors in the other direction
		_ = server.Close()
	})
	_, _ = io.Copy(client, io.TeeReader(server, counter{&m.received}))
}

// close stops the meter. The measured program must have exited.
func (m *meter) close() {
	_ = m.listener.Close()
	m.running.Wait()
}

// counter counts the bytes written to it.
type counter struct{ n *atomic.Int64 }

func (c counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}
