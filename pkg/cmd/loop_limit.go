package cmd

import (
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// limitOptions bound how fast a loop asks the server.
type limitOptions struct {
	qps   float32
	burst int
}

func (o *limitOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().Float32Var(&o.qps, "kube-api-qps", 0, "How many requests to send in a second, in the long run, for each namespace and without the lease's. Zero means no limit here: the server's priority and fairness protects it, and knows better how much it can take.")
	cmd.Flags().IntVar(&o.burst, "kube-api-burst", 0, "With --kube-api-qps: how many requests to send at once. Zero means twice as many as in a second.")
}

func (o *limitOptions) check(cmd *cobra.Command) error {
	switch {
	case o.qps < 0 || o.burst < 0:
		return usageErrorf(cmd, "--kube-api-qps and --kube-api-burst must not be negative")
	case o.burst > 0 && o.qps == 0:
		return usageErrorf(cmd, "--kube-api-burst needs --kube-api-qps")
	}
	return nil
}

// apply gives a config the limit, which all clients of it share.
func (o *limitOptions) apply(config *rest.Config) *rest.Config {
	if o.qps == 0 {
		return config
	}
	burst := o.burst
	if burst == 0 {
		burst = max(1, int(2*o.qps))
	}
	config = rest.CopyConfig(config)
	config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(o.qps, burst)
	return config
}
