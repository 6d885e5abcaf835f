package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
)

// rollouts is an installation of Argo Rollouts.
type rollouts struct {
	// programs is the directory of its binaries, and crds is the directory of its CRDs.
	// If programs is empty, Argo Rollouts is not measured.
	programs, crds string
}

const rolloutKind = "Rollout"

// rollout returns the subject for Rollouts, whose controller creates ReplicaSets. The
// built-in controller of ReplicaSets creates the pods, without rate limits.
func (b *bench) rollout() subject {
	s := b.lifted()
	s.resource = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "rollouts"}
	s.apiVersion, s.kind = s.resource.GroupVersion().String(), rolloutKind
	return s
}

// startRollouts installs the CRDs, and starts the controller once the kind is
// served.
func (b *bench) startRollouts(ctx context.Context) (*process, error) {
	files, err := filepath.Glob(filepath.Join(b.rollouts.crds, "*-crd.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no CRDs in %s: %w", b.rollouts.crds, err)
	}
	args := []string{"apply", "--server-side"}
	for _, file := range files {
		args = append(args, "-f", file)
	}
	if err := b.run(ctx, "kubectl", args...); err != nil {
		return nil, err
	}
	if err := b.served(ctx, b.rollout()); err != nil {
		return nil, err
	}
	// Port -1 keeps the controller from listening on all addresses.
	cmd := b.command(ctx, filepath.Join(b.rollouts.programs, "rollouts-controller"),
		"--kubeconfig="+b.kubeconfig, "--leader-elect=false", "--metricsPort=-1", "--healthzPort=-1", "--loglevel=warn")
	return startProcess(cmd, b.logOf("rollouts"))
}

// served waits until the type of a subject is served.
func (b *bench) served(ctx context.Context, s subject) error {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := b.account.dynamic.Resource(s.resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
		return err == nil, nil
	})
}
