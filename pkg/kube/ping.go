package kube

import (
	"net/http"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// pingAfter is how long a connection may be silent before the server gets a ping, and how long
// it has to answer.
const pingAfter = 3 * time.Second

// pinging guards what pingOften sets: client-go shares transports among all clients of the
// process.
var pinging sync.Mutex //nolint:gochecknoglobals // as is client-go's cache of transports

// pingOften makes a transport notice within seconds that a server is gone, as after a loss of
// the network. client-go's default of 45 seconds is long for a person who watches a screen.
func pingOften(transport http.RoundTripper) {
	for {
		switch t := transport.(type) {
		case *http.Transport:
			pinging.Lock()
			defer pinging.Unlock()
			if t != http.DefaultTransport && t.HTTP2 == nil {
				t.HTTP2 = &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingAfter}
			}
			return
		case utilnet.RoundTripperWrapper:
			transport = t.WrappedRoundTripper()
		default:
			return
		}
	}
}
