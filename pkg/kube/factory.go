// Package clients makes what a command talks to the cluster with: clients within
// bounds of time and memory, the kinds that words name, and the errors that tell
// what the server lacks.
package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
)

// Factory makes what a verb talks to the cluster with, from kubectl's global flags.
type Factory struct {
	Flags      *genericclioptions.ConfigFlags
	connection connection
	// flags are the parsed global flags.
	flags *pflag.FlagSet
	// timeout is the flag --request-timeout.
	timeout *pflag.Flag
	// Finder finds replica fields, with discovery cached on disk as kubectl does
	// it. There is one for a command, which remembers what it was told.
	Finder func() (*discover.Finder, error)
}

// New makes the factory of one command. Warnings of the server go to the streams.
func New(version string, streams genericiooptions.IOStreams) *Factory {
	// One for all clients: what the server warns of is said once.
	warnings := rest.NewWarningWriter(escape.Writer(streams.ErrOut), rest.WarningWriterOptions{Deduplicate: true})
	c := &Factory{flags: &pflag.FlagSet{}}
	c.Flags = genericclioptions.NewConfigFlags(true).WithWrapConfigFn(func(config *rest.Config) *rest.Config {
		config.UserAgent = "kubectl-imoocpod/" + version
		// The server's priority and fairness protects it better than a limit
		// here, which would only make one person's command slower.
		config.QPS = -1
		config.WarningHandler = warnings
		timeout := c.requestTimeout()
		config.Wrap(func(base http.RoundTripper) http.RoundTripper {
			pingOften(base)
			return &boundedTransport{connection: &c.connection, timeout: timeout, maxBytes: maxResponseBytes, base: base}
		})
		if timeout > 0 {
			// Discovery has a timeout of its own, which must not be the shorter one.
			config.Timeout = 4 * timeout
		}
		return config
	})
	c.Finder = sync.OnceValues(c.newFinder)
	return c
}

// Namespace is the one that the flags or the context name; given says that a
// flag did.
func (c *Factory) Namespace() (namespace string, given bool, err error) {
	if _, err := c.Kubeconfig(); err != nil {
		return "", false, err
	}
	return c.Flags.ToRawKubeConfigLoader().Namespace()
}

// Kubeconfig is what the files say, in which the context that was asked for is.
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

// Config says how to reach the server.
func (c *Factory) Config() (*rest.Config, error) {
	raw, err := c.Kubeconfig()
	if err != nil {
		return nil, err
	}
	if f := c.Flags; raw.CurrentContext == "" && *f.Context+*f.ClusterName+*f.APIServer == "" {
		// clientcmd would try a server on localhost that nobody named.
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
	config.Timeout = 0 // it would cut off watches
	return config, nil
}

// WaitForServer makes the clients of the command wait for a server that is away, as
// long as it takes.
func (c *Factory) WaitForServer() { c.connection.setPatient() }

// AddFlags adds kubectl's global flags.
func (c *Factory) AddFlags(flags *pflag.FlagSet) {
	c.flags = flags
	c.Flags.AddFlags(flags)
	// The value itself stays "0": clientcmd takes another one for a configuration,
	// and would not look for that of a pod.
	c.timeout = flags.Lookup("request-timeout")
	c.timeout.DefValue = defaultRequestTimeout.String()
}

// requestTimeout is how long the server has for a request. Zero is no limit.
func (c *Factory) requestTimeout() time.Duration {
	if c.timeout == nil || !c.timeout.Changed {
		return defaultRequestTimeout
	}
	timeout, err := clientcmd.ParseTimeout(c.timeout.Value.String())
	if err != nil {
		return defaultRequestTimeout // clientcmd has refused it
	}
	return timeout
}

// Dynamic is the client for custom resources.
func (c *Factory) Dynamic() (*dynamic.DynamicClient, error) {
	return clientOf(c, dynamic.NewForConfig)
}

// DynamicFor is the client for custom resources of a configuration.
func DynamicFor(config *rest.Config) (*dynamic.DynamicClient, error) {
	return newClient(config, dynamic.NewForConfig)
}

func (c *Factory) newFinder() (*discover.Finder, error) {
	client, err := c.Dynamic()
	if err != nil {
		return nil, err
	}
	discovery, err := c.Flags.ToDiscoveryClient()
	if err != nil {
		return nil, fmt.Errorf("make a client for discovery: %w", err)
	}
	return &discover.Finder{Discovery: discovery, Dynamic: client}, nil
}

// KindNamed finds the kind that a word names, as kubectl does: plural, singular,
// short name, plural.group or plural.version.group.
func (c *Factory) KindNamed(ctx context.Context, word string) (kinds.Kind, error) {
	mapper, err := c.Flags.ToRESTMapper()
	if err != nil {
		return kinds.Kind{}, fmt.Errorf("find the type %s: %w", word, err)
	}
	full, short := schema.ParseResourceArg(word)
	var gvk schema.GroupVersionKind
	if full != nil {
		gvk, err = mapper.KindFor(*full)
	}
	if full == nil || err != nil {
		gvk, err = mapper.KindFor(short.WithVersion(""))
	}
	if meta.IsNoMatchError(err) {
		return kinds.Kind{}, missingType(word)
	}
	if err != nil {
		return kinds.Kind{}, fmt.Errorf("find the type %s: %w", word, err)
	}
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return kinds.Kind{}, fmt.Errorf("find the type %s: %w", word, err)
	}
	return c.KindOf(ctx, mapping)
}

// KindOf is the kind of a type that the server has, with what its CRD declares.
func (c *Factory) KindOf(ctx context.Context, mapping *meta.RESTMapping) (kinds.Kind, error) {
	kind := kinds.KindOf(mapping)
	if kind.Reconciled() || kind.BuiltIn() {
		return kind, nil
	}
	finder, err := c.Finder()
	if err != nil {
		return kind, err
	}
	kind, err = finder.Declare(ctx, kind)
	if wrong := (*kinds.DeclarationError)(nil); errors.As(err, &wrong) {
		// It is as good as none; "kinds" and "check" tell of it.
		klog.FromContext(ctx).V(1).Info("Ignoring the annotations of a CRD", "kind", kind, "err", err)
		return kind, nil
	}
	return kind, err
}

// Core is the client for pods and events, which speaks protobuf.
func (c *Factory) Core() (*corev1client.CoreV1Client, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	return CoreFor(config)
}

// CoreFor is the client for pods, events and nodes of a configuration.
func CoreFor(config *rest.Config) (*corev1client.CoreV1Client, error) {
	return newClient(WithProtobuf(config), corev1client.NewForConfig)
}

// clientOf makes a client for the server of the command.
func clientOf[T any](c *Factory, newForConfig func(*rest.Config) (T, error)) (client T, err error) {
	config, err := c.Config()
	if err != nil {
		return client, err
	}
	return newClient(config, newForConfig)
}

func newClient[T any](config *rest.Config, newForConfig func(*rest.Config) (T, error)) (T, error) {
	client, err := newForConfig(config)
	if err != nil {
		return client, fmt.Errorf("make a client: %w", err)
	}
	return client, nil
}

// WithProtobuf is how to speak to the server of its built-in types.
func WithProtobuf(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return config
}

// configCommand is a command of "kubectl config" about the files of this command.
func (c *Factory) configCommand(verb string) string {
	return given(c.flags, "kubeconfig").Line(commandline.Kubectl("config", verb))
}

var errNoCluster = errors.New("no cluster is configured: set KUBECONFIG or --kubeconfig to a file that names one")
