package apiserver_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver/play"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// TestTypeInsteadOfName checks the error of commands with a type but no name.
func TestTypeInsteadOfName(t *testing.T) {
	t.Parallel()
	s := apiserver.New(t)
	for _, line := range []string{
		"wait deploy", "logs deployments", "history deployment", "undo deploy", "restart deploy", "describe deploy", "delete deploy",
		"pause deployments.apps", "resume deploy", "park deploy", "scale deploy --replicas 3", "set image deploy nginx",
		"wait deploy --for=delete", "wait deploy --for=create", "delete deploy --ignore-not-found",
	} {
		stdout, _, err := run(t, s, line)
		const want = "deployment is a type: name an object, or pass --all"
		if usage, is := errors.AsType[*outcome.UsageError](err); !is || usage.Error() != want || stdout != "" {
			t.Errorf("%s: %v, want %q; it printed %q", line, err, want, stdout)
		}
	}
	// "no" is the short name of nodes, and can also be the name of an object.
	for _, line := range []string{"wait web", "wait no"} {
		if _, _, err := run(t, s, line); !strings.Contains(outcome.HintLines(err, nil), "a NAME without a type is an ImoocPod") {
			t.Errorf("%s: %v, with the hint %q", line, err, outcome.HintLines(err, nil))
		}
	}
}

// TestWordsOfOtherTools checks that the error for a verb of another tool names the equivalent verb
// of this program.
func TestWordsOfOtherTools(t *testing.T) {
	t.Parallel()
	s := apiserver.New(t)
	for line, want := range map[string]string{
		"rollback deployment/web":       `undo a change with "kubectl imoocpod undo"`,
		"rollback web --to-revision 2":  `undo a change with "kubectl imoocpod undo"`,
		"stop deployment/web":           `scale to zero with "kubectl imoocpod park"`,
		"get deployments":               `list objects with "kubectl imoocpod status"`,
		"rollout undo deployment/web":   `undo a change with "kubectl imoocpod undo"`,
		"top deployment/web":            "use kubectl top pods",
		"--context staging stop -l a=b": `"kubectl imoocpod park --context=staging"`,
	} {
		_, _, err := run(t, s, line)
		if usage := (*outcome.UsageError)(nil); !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

// TestHintToResume checks that the commands in the hints about a paused Deployment work.
func TestHintToResume(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := cluster(t, deployment("web", "example.com/web:1", 1))
		for _, line := range []string{"pause deployment/web --for forever", "set image deployment/web example.com/web:2"} {
			if _, _, err := run(t, s, line); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		for line, want := range map[string]string{
			"wait deployment/web --timeout 1m": "\nhint: kubectl imoocpod resume deployment/web -n default",
			"restart deployment/web":           "\nhint: to resume it: kubectl imoocpod resume deployments.apps/web -n default",
			"undo deployment/web":              "\nhint: to resume it: kubectl imoocpod resume deployments.apps/web -n default",
		} {
			if _, _, err := run(t, s, line); err == nil || outcome.HintLines(err, nil) != want {
				t.Errorf("%s: %v, with the hint %q, want %q", line, err, outcome.HintLines(err, nil), want)
			}
		}
		if _, _, err := run(t, s, "resume deployments.apps/web -n default"); err != nil {
			t.Error(err)
		}
		play.SetFate(s, play.Away)
		if _, _, err := run(t, s, "pause deployment/web --for forever"); err != nil {
			t.Fatal(err)
		}
		ctx, interrupt := context.WithCancel(t.Context())
		s.After(time.Second, interrupt)
		err := command(ctx, s, "resume deployment/web --wait", io.Discard, io.Discard)
		const want = "hint: to undo the change: kubectl imoocpod pause deployments.apps/web --for forever -n default"
		if got := outcome.HintLines(err, nil); !strings.HasSuffix(got, want) {
			t.Errorf("%v, with the hint %q, want %q", err, got, want)
		}
	})
}

// TestNamesThatLeadNowhere checks the errors and hints for missing objects, fields, conditions, and
// namespaces.
func TestNamesThatLeadNowhere(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := cluster(t, deployment("web", "example.com/web:1", 1))
		for line, want := range map[string]string{
			"wait deployment/web --for=jsonpath={.status.readyReplicaz}=1": "it has no .status.readyReplicaz; the fields there are availableReplicas, ",
			"wait deployment/web --for=jsonpath={.status.readyReplicas}=3": "last seen: {.status.readyReplicas} is 1",
			"wait deployment/web --for=condition=Redy":                     "last seen: its conditions are Available=True, ",
			"status web":                                "use deployment/web",
			"restart web":                               "use deployment/web",
			"status deployment/web -n nope":             `namespaces "nope" not found`,
			"status web -n nope":                        `there is no namespace "nope"`,
			"status deployment/web -n a,b":              "-n takes one namespace",
			"scale deployment/web --replicas 1 -n Nope": `invalid namespace "Nope"`,
		} {
			_, _, err := run(t, s, line)
			if err == nil || !strings.Contains(err.Error()+outcome.HintLines(err, nil), want) {
				t.Errorf("%s: %v, with the hint %q, want %q", line, err, outcome.HintLines(err, nil), want)
			}
		}
		if _, stderr, err := run(t, s, "status -n nope"); err != nil || stderr != "No resources found in nope namespace. There is no such namespace.\n" {
			t.Errorf("%v, it printed %q", err, stderr)
		}
	})
}
