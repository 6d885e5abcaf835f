package main

import (
	"slices"
	"testing"
)

func TestComponentsHaveTheirExtraArgumentsLast(t *testing.T) {
	var o options
	flags := o.flagSet("test")
	args := []string{
		"--arg", "kube-scheduler:--kube-api-qps=1",
		"--arg", "kube-scheduler:--config=a:b",
		"--arg", "etcd:--log-level=info",
	}
	if err := parseAll(flags, args); err != nil {
		t.Fatal(err)
	}
	all := layout{bin: "/bin", dir: "/dir"}.components(o)
	for name, want := range map[string][]string{
		scheduler: {"--kube-api-qps=1", "--config=a:b"},
		etcd:      {"--log-level=info"},
	} {
		got := all[name].args
		if got = got[len(got)-len(want):]; !slices.Equal(got, want) {
			t.Errorf("the last arguments of %s are %q, want %q", name, got, want)
		}
	}
	for name := range all {
		if !isComponent(name) {
			t.Errorf("isComponent(%q) = false, want true", name)
		}
	}
}

func TestInvalidArgIsAnError(t *testing.T) {
	for _, value := range []string{"kubelet:--v=1", "etcd", "etcd:"} {
		var o options
		if err := parseAll(o.flagSet("test"), []string{"--arg", value}); err == nil {
			t.Errorf("--arg %s: got no error, want one", value)
		}
	}
}

func TestFreePortsDiffer(t *testing.T) {
	p, err := freePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	all := append([]int{p.etcdClient, p.etcdPeer, p.apiServer}, p.kubelets...)
	slices.Sort(all)
	if len(slices.Compact(all)) != 4 {
		t.Errorf("ports %+v are not four different ports", p)
	}
}
