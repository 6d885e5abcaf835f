package harness

import (
	"net"
	"net/url"
	"sync"
	"testing"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Link is a proxy for the API server. Cut closes all connections, and Stall delays all data.
type Link struct {
	// Kubeconfig is the path of a kubeconfig that connects to the server through the link.
	Kubeconfig string

	mu       sync.Mutex
	cut      bool
	open     map[net.Conn]bool
	stalled  chan struct{} // closed while data flows
	listener net.Listener
}

// NewLink returns a working link that is removed when the test ends.
func (c *Cluster) NewLink(t *testing.T) *Link {
	t.Helper()
	server, err := url.Parse(c.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	l := &Link{open: map[net.Conn]bool{}, stalled: make(chan struct{})}
	close(l.stalled)
	if l.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	l.Kubeconfig = c.KubeconfigWith(t, func(_ *clientcmdapi.Context, cluster *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
		cluster.Server = "https://" + l.listener.Addr().String()
	})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			from, err := l.listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", server.Host)
			if err != nil || !l.add(from, to) {
				_ = from.Close()
				continue
			}
			running.Go(func() { l.relay(from, to) })
			running.Go(func() { l.relay(to, from) })
		}
	})
	t.Cleanup(func() {
		_ = l.listener.Close()
		l.Flow()
		l.Cut()
		running.Wait()
	})
	return l
}

// add registers connections. If the link is cut, add closes them and returns false.
func (l *Link) add(both ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range both {
		if l.cut {
			_ = conn.Close()
			continue
		}
		l.open[conn] = true
	}
	return !l.cut
}

// Cut closes all connections. Until Restore is called, the link closes each new connection at once.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	for conn := range l.open {
		_ = conn.Close()
	}
	clear(l.open)
}

// Restore allows connections again.
func (l *Link) Restore() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
}

// Stall delays all data in both directions.
func (l *Link) Stall() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stalled = make(chan struct{})
}

// Flow delivers the data that Stall delayed.
func (l *Link) Flow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.stalled:
	default:
		close(l.stalled)
	}
}

func (l *Link) gate() chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stalled
}

// relay copies data from one connection to another. While the link is stalled, it waits.
func (l *Link) relay(from, to net.Conn) {
	defer func() { _, _ = from.Close(), to.Close() }()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		<-l.gate()
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
