package kube

import (
	"net/http"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// pingAfter is how long a connection may be silent before the server is asked
// whether it is still there, and how long it has to answer.
const pingAfter = 3 * time.Second

// pinging guards what pingOften sets: client-go keeps transports for all clients of
// the process, so another may have one already.
var pinging sync.Mutex //nolint:gochecknoglobals // as is client-go's cache of transports

// pingOften makes a transport notice within seconds that a server is gone without
// a word, as after a loss of the network. client-go takes 45 seconds by default,
// which is long for somebody who watches a screen.
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
