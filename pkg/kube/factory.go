// Package kube creates the clients of a command, and limits the time and memory of their requests. It
// also finds kinds by name, and adds the name of the missing CRD to server errors.
package kube

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// Factory creates the clients of a command from kubectl's global flags.
type Factory struct {
	Flags      *genericclioptions.ConfigFlags
	connection connection
	errOut     io.Writer
	announced  sync.Once      // for the message about the credential plugin
	flags      *pflag.FlagSet // the parsed global flags
	// Connect returns the clients that all parts of the command share. It sends no requests.
	Connect func() (*Clients, error)
}

// New returns the factory of a command. The clients write warnings of the server to streams.ErrOut.
func New(version string, streams genericiooptions.IOStreams) *Factory {
	// All clients share this writer, so that each warning is printed only once.
	warnings := rest.NewWarningWriter(escape.Writer(streams.ErrOut), rest.WarningWriterOptions{Deduplicate: true})
	c := &Factory{flags: &pflag.FlagSet{}, errOut: streams.ErrOut}
	c.Flags = genericclioptions.NewConfigFlags(true).WithWrapConfigFn(func(config *rest.Config) *rest.Config {
		config.UserAgent = "kubectl-imoocpod/" + version
		// API Priority and Fairness protects the server. A client-side limit would only slow down the command.
		config.QPS = -1
		config.WarningHandler = warnings
		c.announcePlugin(config)
		timeout := c.requestTimeout()
		config.Wrap(func(base http.RoundTripper) http.RoundTripper {
			return &boundedTransport{connection: &c.connection, timeout: timeout, maxBytes: maxResponseBytes, base: base}
		})
		if timeout > 0 {
			// Otherwise, discovery would set its own timeout, which may be shorter.
			config.Timeout = 4 * timeout
		}
		return config
	})
	c.Connect = sync.OnceValues(c.newClients)
	return c
}

// Namespace returns the namespace from the flag or, without the flag, from the context. given means
// that the flag is set. Several namespaces are an error.
func (c *Factory) Namespace() (namespace string, given bool, err error) {
	all, given, err := c.Namespaces()
	if err == nil && len(all) > 1 {
		err = &outcome.UsageError{Err: fmt.Errorf("-n takes one namespace, not %s; use -A for all", strings.Join(all, ","))}
	}
	if err != nil {
		return "", given, err
	}
	return all[0], given, nil
}

// Namespaces is like Namespace, but accepts several names, separated by commas.
func (c *Factory) Namespaces() (all []string, given bool, err error) {
	if _, err := c.Kubeconfig(); err != nil {
		return nil, false, err
	}
	namespace, given, err := c.Flags.ToRawKubeConfigLoader().Namespace()
	all = strings.Split(namespace, ",")
	for _, name := range all {
		if problems := validation.IsDNS1123Label(name); err == nil && len(problems) > 0 {
			err = &outcome.UsageError{Err: fmt.Errorf("invalid namespace %q: %s", name, problems[0])}
		}
	}
	return all, given, err
}

// Kubeconfig returns the merged kubeconfig. It returns an error if the context in --context does not exist.
func (c *Factory) Kubeconfig() (clientcmdapi.Config, error) {
	raw, err := c.Flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return raw, err
	}
	if given := *c.Flags.Context; given != "" && raw.Contexts[given] == nil {
		return raw, fmt.Errorf("context %q does not exist: see \"%s\"", given, c.configCommand("get-contexts"))
	}
	return raw, nil
}

// Config returns the client configuration. It returns an error if there is no current context, no flag
// selects a cluster, and the process does not run in a pod.
func (c *Factory) Config() (*rest.Config, error) {
	raw, err := c.Kubeconfig()
	if err != nil {
		return nil, err
	}
	if f := c.Flags; raw.CurrentContext == "" && *f.Context+*f.ClusterName+*f.APIServer == "" {
		// Otherwise, clientcmd would use a server on localhost that is not configured anywhere.
		switch _, err := rest.InClusterConfig(); {
		case err == nil:
		case len(raw.Clusters) == 0:
			return nil, errNoCluster
		default:
			return nil, fmt.Errorf("no current context is set: choose one with --context or \"%s\"", c.configCommand("use-context"))
		}
	}
	config, err := c.Flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config.Timeout = 0 // a timeout would end watches
	return config, nil
}

// WaitForServer lets the clients send requests even after other requests have timed out, so that the
// command can wait until the server responds again.
func (c *Factory) WaitForServer() { c.connection.patient.Store(true) }

// AddFlags adds kubectl's global flags.
func (c *Factory) AddFlags(flags *pflag.FlagSet) {
	c.flags = flags
	c.Flags.AddFlags(flags)
	// Change only the default in the help. If the value is not "0", clientcmd does not fall back to
	// the in-cluster configuration.
	flags.Lookup("request-timeout").DefValue = defaultRequestTimeout.String()
}

// requestTimeout returns the timeout of requests, or zero for no timeout.
func (c *Factory) requestTimeout() time.Duration {
	if !c.flags.Changed("request-timeout") {
		return defaultRequestTimeout
	}
	timeout, err := clientcmd.ParseTimeout(*c.Flags.Timeout)
	if err != nil {
		return defaultRequestTimeout // clientcmd has already rejected the value
	}
	return timeout
}

// WithProtobuf returns a copy of config that selects protobuf. Only built-in types support it.
func WithProtobuf(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return config
}

func (c *Factory) configCommand(verb string) string {
	return given(c.flags, "kubeconfig").Line(commandline.Kubectl("config", verb))
}

var errNoCluster = errors.New("no cluster is configured: set KUBECONFIG or --kubeconfig to a file that names one")
