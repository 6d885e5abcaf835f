package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
)

// Declared checks whether controllers (loops) reconcile the declared kinds (plural.group) that have objects
// in the namespace, or in any namespace if c.Namespace is "". It returns nil if all kinds are reconciled.
func (c Checker) Declared(loops []leaserecord.Loop, kinds []string, now time.Time) []Result {
	orphans := c.notReconciled(loops, kinds, now)
	if len(orphans) == 0 {
		return nil
	}
	return []Result{c.missing(orphans, leaserecord.Scope{Namespace: c.Namespace, Kinds: orphans[:min(len(orphans), 10)]})}
}

// notReconciled returns the kinds that no live loop reconciles. A loop that reconciles only some
// objects of a kind is enough. If c.Namespace is "", only loops for all namespaces are considered.
func (c Checker) notReconciled(loops []leaserecord.Loop, kinds []string, now time.Time) []string {
	return slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool {
		return slices.ContainsFunc(loops, func(l leaserecord.Loop) bool {
			return l.Live(now) && l.Scope.Overlaps(leaserecord.Scope{Namespace: c.Namespace, Kinds: []string{kind}}) && (c.Namespace != "" || l.Scope.Namespace == "")
		})
	})
}

// missing returns the result for kinds that no controller reconciles. fix is the scope of a controller to start.
func (c Checker) missing(orphans []string, fix leaserecord.Scope) Result {
	message := "no controller reconciles " + strings.Join(orphans, ", ") + " in " + leaserecord.Where(fix.Namespace)
	return Result{Name: "controller", State: Failed, Message: message, Fix: []string{c.Commands.Line(runScope(fix))}}
}

// Loops returns a result for each live loop that covers the namespace or, if c.Namespace is "", for every live loop. It
// adds one result for any kinds (plural.group) that no live loop reconciles there.
func (c Checker) Loops(loops []leaserecord.Loop, kinds []string, now time.Time) []Result {
	var checks []Result
	var last leaserecord.Loop
	runs := false
	for _, l := range loops {
		// Loops that reconcile only kinds declared by CRDs have a result, too.
		if c.Namespace != "" && l.Scope.Namespace != "" && l.Scope.Namespace != c.Namespace {
			continue
		}
		if !l.Live(now) {
			if l.Holder != "" && l.Renewed.After(last.Renewed) {
				last = l
			}
			continue
		}
		runs = runs || c.Namespace != "" || l.Scope.Namespace == ""
		r := Result{Name: "controller", State: Passed, Message: fmt.Sprintf("%s: %s", l.Scope, l)}
		if l.Version != "" && l.Version != c.Version {
			r.State, r.Message = Failed, fmt.Sprintf("%s; it is version %s, but this program is version %s: stop it, and start this version", r.Message, l.Version, c.Version)
			r.Fix = []string{c.Commands.Line(runScope(l.Scope))}
		}
		checks = append(checks, r)
	}
	orphans := c.notReconciled(loops, kinds, now)
	if len(orphans) == 0 {
		return checks
	}
	r := c.missing(orphans, leaserecord.Scope{Namespace: c.Namespace})
	if len(orphans) == len(kinds) && !runs {
		r.Message = "no controller is running for " + leaserecord.Where(c.Namespace)
	}
	if !last.Renewed.IsZero() {
		r.Message += fmt.Sprintf("; the last one was %s, and last renewed its lease at %s", last, last.Renewed.UTC().Format("2006-01-02 15:04:05 MST"))
	}
	return append(checks, r)
}

// runScope returns the command that runs a controller with a scope. It omits --kind-file, which leases do not record.
func runScope(s leaserecord.Scope) commandline.Command {
	cmd := inNamespace(commandline.Plugin("run-controller"), s.Namespace)
	switch {
	case s.Declared:
		cmd = cmd.With("--declared-kinds")
	case len(s.Kinds) > 0:
		cmd = cmd.With("--kinds", strings.Join(s.Kinds, ","))
	}
	if s.Selector != "" {
		cmd = cmd.With("--selector", s.Selector)
	}
	return cmd
}

// inNamespace returns a command with the flag for the namespace, or with -A if namespace is "".
func inNamespace(cmd commandline.Command, namespace string) commandline.Command {
	if namespace == "" {
		return cmd.With("-A")
	}
	return cmd.In(namespace)
}

// Deployment is a controller that "install --controller" installed.
type Deployment struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Version is the version of this program that installed the controller, or "" without a version label.
	Version string `json:"version"`
	// Desired and Available are the numbers of desired and available pods.
	Desired, Available int32 `json:"-"`
	// Everywhere means that the controller reconciles the objects in all namespaces.
	Everywhere bool `json:"-"`
}

// Deployed checks whether a deployed controller has the version of this program. If pods are desired, it also checks
// whether at least one is available.
func (c Checker) Deployed(d Deployment) Result {
	r := Result{Name: "controller in " + d.Namespace, State: Passed, Message: "is deployed, version " + d.Version}
	switch {
	case d.Version == "":
		r.State, r.Message = Unknown, "is deployed, but its version is unknown"
	case d.Version != c.Version:
		r.State, r.Message = Failed, fmt.Sprintf("is deployed, version %s, but this program is version %s", d.Version, c.Version)
		install := commandline.Plugin("install", "--controller", "--image=IMAGE")
		if d.Everywhere {
			install = install.With("-A")
		}
		r.Fix = []string{c.Commands.Line(install.In(d.Namespace))}
	}
	if d.Desired > 0 && d.Available == 0 {
		r.State = Failed
		r.Message += fmt.Sprintf("; none of its pods is available (desired %d)", d.Desired)
		r.Fix = append(r.Fix, c.Commands.Line(commandline.Plugin("status", "deployment/"+d.Name).In(d.Namespace)))
	}
	return r
}
