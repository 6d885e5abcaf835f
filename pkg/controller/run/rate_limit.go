package run

import (
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// RateLimit limits the requests of a loop.
type RateLimit struct {
	Qps   float32
	Burst int
}

// apply returns a config with the limit, which all its clients share.
func (o *RateLimit) apply(config *rest.Config) *rest.Config {
	if o.Qps == 0 {
		return config
	}
	burst := o.Burst
	if burst == 0 {
		burst = max(1, int(2*o.Qps))
	}
	config = rest.CopyConfig(config)
	config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(o.Qps, burst)
	return config
}
