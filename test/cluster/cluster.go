package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/imoocpod/kubectl-imoocpod/test/cluster/node"
)

// readyTimeout limits how long to wait until a component is ready. It is long enough for busy machines.
const readyTimeout = 2 * time.Minute

// requestTimeout limits a request to a server that does not answer.
const requestTimeout = 10 * time.Second

type cluster struct {
	layout     layout
	components map[string]component
	supervisor *supervisor
	core       *corev1client.CoreV1Client
}

// withCluster builds missing programs, starts a control plane, and calls use when it is ready. The
// context passed to use is canceled when a component exits unexpectedly. withCluster always stops
// the control plane before it returns.
//
// If another process takes a chosen port before a component listens on it, withCluster tries again
// with other ports, up to three times in total.
func withCluster(ctx context.Context, o options, use func(context.Context, *cluster) error) (err error) {
	state, err := newStateDir()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, state.remove()) }()
	bin, nodeBin, err := ensureAll(ctx, o)
	if err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		dir := filepath.Join(state.path, strconv.Itoa(attempt))
		ready, err := tryCluster(ctx, o, dir, bin, nodeBin, use)
		var died *diedError
		if ready || attempt == 3 || !errors.As(err, &died) || !strings.Contains(died.log, "address already in use") {
			return err
		}
		progress("%s found its port taken, trying again with others", died.component)
	}
}

// tryCluster starts a control plane in a new directory, calls use when it is ready, and stops it.
func tryCluster(
	ctx context.Context, o options, dir, bin, nodeBin string, use func(context.Context, *cluster) error,
) (ready bool, err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	c, err := newCluster(o, dir, bin, nodeBin, fail)
	if err != nil {
		return false, err
	}
	err = c.start(ctx, o.nodes)
	if err == nil {
		ready, err = true, use(ctx, c)
	}
	var died *diedError
	if errors.As(context.Cause(ctx), &died) {
		err = died // the cause of the other errors
	}
	return ready, errors.Join(err, c.supervisor.stopAll(context.WithoutCancel(ctx)))
}

// ensureAll builds missing programs, and returns the directories of the programs. Without real
// nodes, nodeBin is empty. If real nodes cannot run on this machine, ensureAll fails before the
// build, which takes minutes.
func ensureAll(ctx context.Context, o options) (bin, nodeBin string, err error) {
	version, err := o.version(ctx)
	if err != nil {
		return "", "", err
	}
	if o.realNodes > 0 {
		if err := node.Check(); err != nil {
			return "", "", err
		}
	}
	var existing []string
	if o.assets != "" {
		existing = assets()
	}
	bin, err = ensurePrograms(ctx, controlPlanePrograms(version, existing...))
	if err != nil || o.realNodes == 0 {
		return bin, "", err
	}
	nodeBin, err = ensurePrograms(ctx, nodePrograms(version))
	return bin, nodeBin, err
}

func newCluster(o options, dir, bin, nodeBin string, fail context.CancelCauseFunc) (*cluster, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the directory of the components: %w", err)
	}
	ports, err := freePorts(o.realNodes)
	if err != nil {
		return nil, err
	}
	ca, err := newAuthority()
	if err != nil {
		return nil, err
	}
	l := layout{bin: bin, assets: o.assets, dir: dir, ports: ports}
	if err := l.writeFiles(ca); err != nil {
		return nil, err
	}
	if err := l.writeRealNodes(ca, nodeBin, o); err != nil {
		return nil, err
	}
	components := l.components(o)
	for _, n := range l.realNodes() {
		var err error
		if components[n.name], err = n.component(); err != nil {
			return nil, err
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", l.kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS, config.Timeout = -1, requestTimeout
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client of the API server: %w", err)
	}
	return &cluster{
		layout:     l,
		components: components,
		supervisor: &supervisor{dir: dir, fail: fail, processes: map[string]*process{}},
		core:       core,
	}, nil
}

func (c *cluster) endpoint() endpoint {
	return endpoint{
		Kubeconfig: c.layout.kubeconfig(),
		Bin:        c.layout.bin,
		Dir:        c.layout.dir,
		AuditLog:   c.layout.auditLog(),
	}
}

// start starts all components, and waits until pods can be scheduled.
func (c *cluster) start(ctx context.Context, nodes int) error {
	for _, name := range []string{etcd, apiServer, controllerManager, scheduler, kwok} {
		if err := c.startComponent(ctx, name); err != nil {
			return err
		}
	}
	if err := c.createKwokPolicy(ctx); err != nil {
		return err
	}
	if err := c.createNodes(ctx, nodes); err != nil {
		return err
	}
	for _, n := range c.layout.realNodes() {
		if err := c.startComponent(ctx, n.name); err != nil {
			return err
		}
	}
	if err := c.await(ctx, controllerManager, func(ctx context.Context) error {
		_, err := c.core.ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	}); err != nil {
		return err
	}
	return c.await(ctx, kwok, c.checkNodes)
}

// startComponent starts a component. If this is etcd or the API server, startComponent also waits
// until it is ready, because other components depend on it.
func (c *cluster) startComponent(ctx context.Context, name string) error {
	if err := c.supervisor.start(c.components[name]); err != nil {
		return err
	}
	server, path := c.core.RESTClient(), "/readyz"
	switch name {
	case etcd:
		// etcd's health check is a GET request, so a Kubernetes client can send it.
		client, err := corev1client.NewForConfig(&rest.Config{Host: c.layout.etcdURL(), QPS: -1, Timeout: requestTimeout})
		if err != nil {
			return fmt.Errorf("make a client of etcd: %w", err)
		}
		server, path = client.RESTClient(), "/health"
	case apiServer:
	default:
		return nil
	}
	return c.await(ctx, name, func(ctx context.Context) error {
		return server.Get().AbsPath(path).Do(ctx).Error()
	})
}

// await waits until check returns no error. On a timeout, it returns an error with
// the last error of check and the end of the component's log.
func (c *cluster) await(ctx context.Context, component string, check func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollInterval, readyTimeout, true, func(ctx context.Context) (bool, error) {
		err := check(ctx)
		if err != nil && ctx.Err() == nil {
			last = err
		}
		return err == nil, nil
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s is not ready after %s (%w), the end of its log is:\n%s",
			component, readyTimeout, last, node.LogTail(c.layout.file(component+".log")))
	}
	if err != nil {
		return fmt.Errorf("wait for %s: %w", component, err)
	}
	return nil
}
