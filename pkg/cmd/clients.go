package cmd

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

	"github.com/imoocpod/kubectl-imoocpod/pkg/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// clients makes what a verb talks to the cluster with, from kubectl's global flags.
type clients struct {
	flags      *genericclioptions.ConfigFlags
	connection connection
	// timeout is the flag --request-timeout.
	timeout *pflag.Flag
	// finder finds replica fields, with discovery cached on disk as kubectl does
	// it. There is one for a command, which remembers what it was told.
	finder func() (*discover.Finder, error)
}

func newClients(version string, streams genericiooptions.IOStreams) *clients {
	// One for all clients: what the server warns of is said once.
	warnings := rest.NewWarningWriter(escape.Writer(streams.ErrOut), rest.WarningWriterOptions{Deduplicate: true})
	c := &clients{}
	c.flags = genericclioptions.NewConfigFlags(true).WithWrapConfigFn(func(config *rest.Config) *rest.Config {
		config.UserAgent = "kubectl-imoocpod/" + version
		// The server's priority and fairness protects it better than a limit
		// here, which would only make one person's command slower.
		config.QPS = -1
		config.WarningHandler = warnings
		timeout := c.requestTimeout()
		config.Wrap(func(base http.RoundTripper) http.RoundTripper {
			return &boundedTransport{connection: &c.connection, timeout: timeout, base: base}
		})
		if timeout > 0 {
			// Discovery has a timeout of its own, which must not be the shorter one.
			config.Timeout = 4 * timeout
		}
		return config
	})
	c.finder = sync.OnceValues(c.newFinder)
	return c
}

// namespace is the one that the flags or the context name; given says that a
// flag did.
func (c *clients) namespace() (namespace string, given bool, err error) {
	if _, err := c.kubeconfig(); err != nil {
		return "", false, err
	}
	return c.flags.ToRawKubeConfigLoader().Namespace()
}

// kubeconfig is what the files say, in which the context that was asked for is.
func (c *clients) kubeconfig() (clientcmdapi.Config, error) {
	raw, err := c.flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return raw, err
	}
	if given := *c.flags.Context; given != "" && raw.Contexts[given] == nil {
		return raw, fmt.Errorf("context %q does not exist: see \"kubectl config get-contexts\"", given)
	}
	return raw, nil
}

// config says how to reach the server.
func (c *clients) config() (*rest.Config, error) {
	raw, err := c.kubeconfig()
	if err != nil {
		return nil, err
	}
	if f := c.flags; raw.CurrentContext == "" && *f.Context+*f.ClusterName+*f.APIServer == "" {
		// clientcmd would try a server on localhost that nobody named.
		switch _, err := rest.InClusterConfig(); {
		case err == nil:
		case len(raw.Clusters) == 0:
			return nil, errNoCluster
		default:
			return nil, errNoContext
		}
	}
	config, err := c.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config.Timeout = 0 // it would cut off watches
	return config, nil
}

// addFlags adds kubectl's global flags.
func (c *clients) addFlags(flags *pflag.FlagSet) {
	c.flags.AddFlags(flags)
	// The value itself stays "0": clientcmd takes another one for a configuration,
	// and would not look for that of a pod.
	c.timeout = flags.Lookup("request-timeout")
	c.timeout.DefValue = defaultRequestTimeout.String()
}

// requestTimeout is how long the server has for a request. Zero is no limit.
func (c *clients) requestTimeout() time.Duration {
	if c.timeout == nil || !c.timeout.Changed {
		return defaultRequestTimeout
	}
	timeout, err := clientcmd.ParseTimeout(c.timeout.Value.String())
	if err != nil {
		return defaultRequestTimeout // clientcmd has refused it
	}
	return timeout
}

// dynamic is the client for custom resources.
func (c *clients) dynamic() (*dynamic.DynamicClient, error) {
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	return dynamicFor(config)
}

func dynamicFor(config *rest.Config) (*dynamic.DynamicClient, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return client, nil
}

func (c *clients) newFinder() (*discover.Finder, error) {
	client, err := c.dynamic()
	if err != nil {
		return nil, err
	}
	discovery, err := c.flags.ToDiscoveryClient()
	if err != nil {
		return nil, fmt.Errorf("make a client for discovery: %w", err)
	}
	return &discover.Finder{Discovery: discovery, Dynamic: client}, nil
}

// kindNamed finds the kind that a word names, as kubectl does: plural, singular,
// short name, plural.group or plural.version.group.
func (c *clients) kindNamed(ctx context.Context, word string) (kinds.Kind, error) {
	mapper, err := c.flags.ToRESTMapper()
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
		return kinds.Kind{}, missingType(word, fmt.Errorf("%s%q", unknownType, word))
	}
	if err != nil {
		return kinds.Kind{}, fmt.Errorf("find the type %s: %w", word, err)
	}
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return kinds.Kind{}, fmt.Errorf("find the type %s: %w", word, err)
	}
	return c.kindOf(ctx, mapping)
}

// kindOf is the kind of a type that the server has, with what its CRD declares.
func (c *clients) kindOf(ctx context.Context, mapping *meta.RESTMapping) (kinds.Kind, error) {
	kind := kinds.KindOf(mapping)
	if kind.Reconciled() || kind.BuiltIn() {
		return kind, nil
	}
	finder, err := c.finder()
	if err != nil {
		return kind, err
	}
	kind, err = finder.Declare(ctx, kind)
	if wrong := (*kinds.DeclarationError)(nil); errors.As(err, &wrong) {
		// It is as good as none; "kinds" and "check" tell of it.
		klog.FromContext(ctx).V(1).Info("The declaration of a kind is left out", "kind", kind, "err", err)
		return kind, nil
	}
	return kind, err
}

// core is the client for pods and events, which speaks protobuf.
func (c *clients) core() (*corev1client.CoreV1Client, error) {
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	return coreFor(config)
}

func coreFor(config *rest.Config) (*corev1client.CoreV1Client, error) {
	client, err := corev1client.NewForConfig(protobuf(config))
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return client, nil
}

// protobuf is how to speak to the server of its built-in types.
func protobuf(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return config
}

var (
	errNoCluster = errors.New("no cluster to talk to: set KUBECONFIG or --kubeconfig to a file that names one")
	errNoContext = errors.New("no context is current: choose one with --context or \"kubectl config use-context\"")
)
