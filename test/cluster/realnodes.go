package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/imoocpod/kubectl-imoocpod/test/cluster/node"
)

// image is an additional image that real nodes can pull.
type image struct {
	name, layout string
}

// realNode is a node that runs a kubelet and containers.
type realNode struct {
	name string
	dir  string
	// port is the port of the kubelet.
	port int
	// index is the number of the node, starting at 0. It selects the range of pod addresses.
	index int
}

const realNodePrefix = "real-"

// isRealNode reports whether a name looks like the name of a real node, such as real-0.
func isRealNode(name string) bool {
	number, found := strings.CutPrefix(name, realNodePrefix)
	_, err := strconv.ParseUint(number, 10, 8)
	return found && err == nil
}

func (n realNode) kubelet() string { return loopback + ":" + strconv.Itoa(n.port) }

func (l layout) realNodes() []realNode {
	var all []realNode
	for i, port := range l.ports.kubelets {
		name := realNodePrefix + strconv.Itoa(i)
		all = append(all, realNode{name: name, dir: l.file(name), port: port, index: i})
	}
	return all
}

// component returns a component that runs this program as a node.
func (n realNode) component() (component, error) {
	self, err := os.Executable()
	if err != nil {
		return component{}, fmt.Errorf("find the launcher: %w", err)
	}
	return component{name: n.name, path: self, args: []string{"node", n.dir}, tidies: true}, nil
}

func (l layout) imageDir() string { return l.file("images") }

func (l layout) writeRealNodes(ca *authority, nodeBin string, o options) error {
	nodes := l.realNodes()
	if len(nodes) == 0 {
		return nil
	}
	if err := node.MakeImages(l.imageDir(), nodeBin); err != nil {
		return err
	}
	for _, image := range o.images {
		if err := node.AddImage(l.imageDir(), image.name, image.layout); err != nil {
			return err
		}
	}
	for _, n := range nodes {
		if err := l.writeRealNode(ca, nodeBin, n, o.extraArgs[n.name]); err != nil {
			return fmt.Errorf("write the files of node %s: %w", n.name, err)
		}
	}
	return nil
}

func (l layout) writeRealNode(ca *authority, nodeBin string, n realNode, kubeletArgs []string) error {
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		return err
	}
	kubeconfig := filepath.Join(n.dir, node.Kubeconfig)
	if err := l.writeKubeconfig(kubeconfig, ca, "system:node:"+n.name, "system:nodes"); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(n.dir, node.ClientCA), ca.cert, 0o644); err != nil {
		return err
	}
	return node.Config{
		Name:        n.name,
		Bin:         nodeBin,
		Images:      l.imageDir(),
		API:         loopback + ":" + strconv.Itoa(l.ports.apiServer),
		Kubelet:     n.kubelet(),
		PodRange:    fmt.Sprintf("10.200.%d.0/24", n.index),
		Gateway:     fmt.Sprintf("10.200.%d.1", n.index),
		ServiceIP:   firstServiceIP,
		KubeletArgs: kubeletArgs,
	}.Write(n.dir)
}

func nodeCommand(ctx context.Context, name string, args []string) error {
	if len(args) != 1 {
		return errors.New("want the directory of a node")
	}
	dir := args[0]
	if name == "node-inside" {
		return node.RunInside(dir)
	}
	return node.Run(ctx, dir, []string{"node-inside", dir})
}

// removeCgroups removes the cgroups that killed nodes have left.
func removeCgroups(stateDir string) error {
	dirs, err := filepath.Glob(filepath.Join(stateDir, "*", realNodePrefix+"*", node.Kubeconfig))
	if err != nil {
		return fmt.Errorf("look for nodes: %w", err)
	}
	for _, kubeconfig := range dirs {
		if err := node.RemoveCgroups(filepath.Dir(kubeconfig)); err != nil {
			return err
		}
	}
	return nil
}
