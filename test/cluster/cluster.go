package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/test/cluster/node"
)

// readyTimeout is how long a component can take to become ready. It is long enough for busy machines.
const readyTimeout = 2 * time.Minute

type cluster struct {
	layout     layout
	components map[string]component
	supervisor *supervisor
	starter    *starter
	api        *apiClient
}

// withCluster builds missing programs, starts a control plane, and calls use when
// it is ready. It always stops the control plane before it returns.
func withCluster(ctx context.Context, o options, use func(context.Context, *cluster) error) (err error) {
	state, err := claimStateDir(ctx, o.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, state.release(o.keep)) }()
	bin, nodeBin, err := ensureAll(ctx, o)
	if err != nil {
		return err
	}
	ca, err := newAuthority()
	if err != nil {
		return err
	}

	starter := newStarter()
	c, err := startCluster(ctx, o, state.path, bin, nodeBin, ca, starter)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.supervisor.stopAll()) }()
	if err := state.announce(c.endpoint()); err != nil {
		return err
	}
	return use(ctx, c)
}

// ensureAll builds missing programs, and returns the directories of all programs. Without real
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
	set, err := controlPlanePrograms(version, existing...)
	if err != nil {
		return "", "", err
	}
	if bin, err = ensurePrograms(ctx, set); err != nil || o.realNodes == 0 {
		return bin, "", err
	}
	if set, err = nodePrograms(version); err != nil {
		return "", "", err
	}
	nodeBin, err = ensurePrograms(ctx, set)
	return bin, nodeBin, err
}

// startCluster starts a control plane. If another process takes one of the chosen ports in the
// meantime, startCluster tries again with other ports, up to three times in total.
func startCluster(ctx context.Context, o options, dir, bin, nodeBin string, ca *authority, starter *starter) (*cluster, error) {
	for attempt := 1; ; attempt++ {
		c, err := newCluster(o, dir, bin, nodeBin, ca, starter)
		if err != nil {
			return nil, err
		}
		err = c.start(ctx, o.nodes)
		if err == nil {
			return c, nil
		}
		err = errors.Join(err, c.supervisor.stopAll())
		var died *diedError
		if !errors.As(err, &died) || !portClash(died.log) || attempt == 3 {
			return nil, err
		}
		progress("%s found its port taken, trying again with others", died.component)
		if err := c.removeData(); err != nil {
			return nil, err
		}
	}
}

func portClash(log string) bool {
	return strings.Contains(log, "address already in use")
}

func newCluster(o options, dir, bin, nodeBin string, ca *authority, starter *starter) (*cluster, error) {
	ports, err := freePorts(o.realNodes)
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
	api, err := newAPIClient(l.apiServerURL(), ca)
	if err != nil {
		return nil, err
	}
	return &cluster{
		layout:     l,
		components: components,
		supervisor: newSupervisor(dir, starter),
		starter:    starter,
		api:        api,
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
	ctx, cancel := c.supervisor.untilDeath(ctx)
	defer cancel()
	for _, name := range []string{etcd, apiServer, controllerManager, scheduler, kwok} {
		if err := c.startComponent(ctx, name); err != nil {
			return err
		}
	}
	if err := holdKwokToKubelet(ctx, c.api); err != nil {
		return err
	}
	if err := createNodes(ctx, c.api, nodes, c.layout.realNodes()); err != nil {
		return err
	}
	for _, n := range c.layout.realNodes() {
		if err := c.startComponent(ctx, n.name); err != nil {
			return err
		}
	}
	if err := c.await(ctx, controllerManager, func(ctx context.Context) error {
		return c.api.get(ctx, "/api/v1/namespaces/default/serviceaccounts/default", nil)
	}); err != nil {
		return err
	}
	return c.await(ctx, kwok, func(ctx context.Context) error {
		return checkNodes(ctx, c.api)
	})
}

// startComponent starts a component. If this is etcd or the API server, startComponent also waits
// until it is ready, because other components depend on it.
func (c *cluster) startComponent(ctx context.Context, name string) error {
	if err := c.supervisor.start(c.components[name]); err != nil {
		return err
	}
	switch name {
	case etcd:
		return c.await(ctx, name, func(ctx context.Context) error {
			client := apiClient{server: c.layout.etcdURL(), http: http.DefaultClient}
			return client.get(ctx, "/health", nil)
		})
	case apiServer:
		return c.await(ctx, name, func(ctx context.Context) error {
			return c.api.get(ctx, "/readyz", nil)
		})
	}
	return nil
}

// await waits until check returns no error. On a timeout, it returns an error with
// the last error of check and the end of the component's log.
func (c *cluster) await(ctx context.Context, component string, check func(context.Context) error) error {
	errTimeout := errors.New("timeout")
	waitCtx, cancel := context.WithTimeoutCause(ctx, readyTimeout, errTimeout)
	defer cancel()
	var last error
	err := poll(waitCtx, func(ctx context.Context) (bool, error) {
		err := check(ctx)
		if err != nil && ctx.Err() == nil {
			last = err
		}
		return err == nil, nil
	})
	if errors.Is(err, errTimeout) {
		return fmt.Errorf("%s is not ready after %s (%w), the end of its log is:\n%s",
			component, readyTimeout, last, node.LogTail(c.layout.file(component+".log")))
	}
	var died *diedError
	if err != nil && !errors.As(err, &died) {
		return fmt.Errorf("wait for %s: %w", component, err)
	}
	return err
}

// removeData removes the data of the components, so that they start from scratch.
func (c *cluster) removeData() error {
	logs, err := filepath.Glob(c.layout.file("*.log"))
	if err != nil {
		return fmt.Errorf("look for logs: %w", err)
	}
	written := append(logs, c.layout.file("etcd-data"), c.layout.imageDir())
	for _, n := range c.layout.realNodes() {
		written = append(written, n.dir)
	}
	for _, path := range written {
		if err := os.RemoveAll(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the data of a failed start: %w", err)
		}
	}
	return nil
}
