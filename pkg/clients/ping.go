package clients

import (
	"net/http"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// pingAfter is how long a connection may be silent before the server is asked
// whether it is still there, and how long it has to answer.
const pingAfter = 3 * time.Second

// pingOften makes a transport notice within seconds that a server is gone without
// a word, as after a loss of the network. client-go takes 45 seconds by default,
// which is long for somebody who watches a screen.
func pingOften(transport http.RoundTripper) {
	for {
		switch t := transport.(type) {
		case *http.Transport:
			if t != http.DefaultTransport {
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
