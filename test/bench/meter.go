package main

import (
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/tools/clientcmd"
)

// meter is a proxy between one program and the API server. It counts the encrypted bytes from the server.
type meter struct {
	listener net.Listener
	server   string
	// kubeconfig is the path of a kubeconfig with the meter as its server.
	kubeconfig string
	received   atomic.Int64
	running    sync.WaitGroup
}

func (b *bench) newMeter() *meter {
	config := must(clientcmd.LoadFromFile(b.kubeconfig))
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	// The name must not contain a colon, which separates the paths in KUBECONFIG.
	name := "metered-" + strings.ReplaceAll(l.Addr().String(), ":", "-")
	m := &meter{listener: l, kubeconfig: filepath.Join(b.scratch, name)}
	for _, cluster := range config.Clusters {
		m.server = must(url.Parse(cluster.Server)).Host
		cluster.Server = "https://" + l.Addr().String()
	}
	check(clientcmd.WriteToFile(*config, m.kubeconfig))
	m.running.Go(m.accept)
	return m
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
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", m.server)
	if err != nil {
		return // the program gets a connection error
	}
	defer func() { _ = server.Close() }()
	m.running.Go(func() {
		_, _ = io.Copy(server, client) // an error ends the other direction, too
		_ = server.Close()
	})
	_, _ = io.Copy(client, io.TeeReader(server, counter{&m.received}))
}

// close stops the meter. The measured program must have exited.
func (m *meter) close() {
	_ = m.listener.Close()
	m.running.Wait()
}

type counter struct{ n *atomic.Int64 }

func (c counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}
