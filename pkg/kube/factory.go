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

// pluginDelay is the time without a request after which a command prints that it waits for the credential plugin.
const pluginDelay = 5 * time.Second

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
	f := &Factory{flags: &pflag.FlagSet{}, errOut: streams.ErrOut}
	f.Flags = genericclioptions.NewConfigFlags(true).WithWrapConfigFn(func(config *rest.Config) *rest.Config {
		config.UserAgent = "kubectl-imoocpod/" + version
		// API Priority and Fairness protects the server. A client-side limit would only slow down the command.
		config.QPS = -1
		config.WarningHandler = warnings
		f.announcePlugin(config)
		timeout := f.requestTimeout()
		config.Wrap(func(base http.RoundTripper) http.RoundTripper {
			return &boundedTransport{connection: &f.connection, timeout: timeout, maxBytes: maxResponseBytes, base: base}
		})
		if timeout > 0 {
			// Otherwise, discovery would set its own timeout, which may be shorter.
			config.Timeout = 4 * timeout
		}
		return config
	})
	f.Connect = sync.OnceValues(f.newClients)
	return f
}

// announcePlugin prints the name of the credential plugin in config if the plugin delays the first
// request. client-go waits for a plugin without a timeout, because the user might need to log in.
func (f *Factory) announcePlugin(config *rest.Config) {
	if config.ExecProvider == nil {
		return
	}
	f.announced.Do(func() {
		time.AfterFunc(pluginDelay, func() {
			if !f.connection.used.Load() {
				_ = escape.PrintLine(f.errOut, "waiting for the credential plugin %s", config.ExecProvider.Command)
			}
		})
	})
}

// Namespace returns the namespace from the flag, if given, or from the context. Several namespaces are an error.
func (f *Factory) Namespace() (namespace string, given bool, err error) {
	all, given, err := f.Namespaces()
	if err == nil && len(all) > 1 {
		err = &outcome.UsageError{Err: fmt.Errorf("-n takes one namespace, not %s; use -A for all", strings.Join(all, ","))}
	}
	if err != nil {
		return "", given, err
	}
	return all[0], given, nil
}

// Namespaces is like Namespace, but accepts several names, separated by commas.
func (f *Factory) Namespaces() (all []string, given bool, err error) {
	if _, err := f.Kubeconfig(); err != nil {
		return nil, false, err
	}
	namespace, given, err := f.Flags.ToRawKubeConfigLoader().Namespace()
	all = strings.Split(namespace, ",")
	for _, name := range all {
		if problems := validation.IsDNS1123Label(name); err == nil && len(problems) > 0 {
			err = &outcome.UsageError{Err: fmt.Errorf("invalid namespace %q: %s", name, problems[0])}
		}
	}
	return all, given, err
}

// Kubeconfig returns the merged kubeconfig. It returns an error if the context in --context does not exist.
func (f *Factory) Kubeconfig() (clientcmdapi.Config, error) {
	raw, err := f.Flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return raw, err
	}
	if given := *f.Flags.Context; given != "" && raw.Contexts[given] == nil {
		return raw, fmt.Errorf("context %q does not exist: see \"%s\"", given, f.configCommand("get-contexts"))
	}
	return raw, nil
}

// Config returns the client configuration. It returns an error if there is no current context, no flag
// selects a cluster, and the process does not run in a pod.
func (f *Factory) Config() (*rest.Config, error) {
	raw, err := f.Kubeconfig()
	if err != nil {
		return nil, err
	}
	if flags := f.Flags; raw.CurrentContext == "" && *flags.Context+*flags.ClusterName+*flags.APIServer == "" {
		// Otherwise, clientcmd would use a server on localhost that is not configured anywhere.
		switch _, err := rest.InClusterConfig(); {
		case err == nil:
		case len(raw.Clusters) == 0:
			return nil, errors.New("no cluster is configured: set KUBECONFIG or --kubeconfig to a file that names one")
		default:
			return nil, fmt.Errorf("no current context is set: choose one with --context or \"%s\"", f.configCommand("use-context"))
		}
	}
	config, err := f.Flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config.Timeout = 0 // a timeout would end watches
	return config, nil
}

// WaitForServer lets the clients send requests after timeouts, so that the command can wait for the server.
func (f *Factory) WaitForServer() { f.connection.patient.Store(true) }

// AddFlags adds kubectl's global flags.
func (f *Factory) AddFlags(flags *pflag.FlagSet) {
	f.flags = flags
	f.Flags.AddFlags(flags)
	// Change only the help. If the value is not "0", clientcmd does not fall back to the in-cluster configuration.
	flags.Lookup("request-timeout").DefValue = defaultRequestTimeout.String()
}

// requestTimeout returns the timeout of requests, or zero for no timeout.
func (f *Factory) requestTimeout() time.Duration {
	if !f.flags.Changed("request-timeout") {
		return defaultRequestTimeout
	}
	timeout, _ := clientcmd.ParseTimeout(*f.Flags.Timeout) // clientcmd has already rejected an invalid value
	return timeout
}

// WithProtobuf returns a copy of config that selects protobuf. Only built-in types support it.
func WithProtobuf(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return config
}

func (f *Factory) configCommand(verb string) string {
	return given(f.flags, "kubeconfig").Line(commandline.Kubectl("config", verb))
}
