// Package leaserecord records in a lease who runs a controller, where, since when, and which objects it reconciles.
package leaserecord

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// Scope is the set of objects that a loop reconciles.
type Scope struct {
	// Namespace is the namespace of the objects; empty means all namespaces.
	Namespace string
	// Kinds lists the kinds as plural.group; empty means all shipped kinds.
	Kinds []string
	// Declared means all kinds that CRDs declare, in addition to the shipped kinds. If Declared is set, Kinds is empty.
	Declared bool
	// Selector selects the objects by their labels; empty means all objects.
	Selector string
}

// Lease returns the lease for a scope. Loops with the same scope share a lease, so only one of them
// works at a time. Scopes that only overlap have different leases (see Overlaps).
func (s Scope) Lease() (namespace, name string) {
	namespace, name = s.Namespace, "imoocpod-"+apis.RunController
	if namespace == "" {
		namespace = apis.LeaseNamespaceForAll
		name += "-all"
	}
	if len(s.Kinds) > 0 || s.Declared || s.Selector != "" {
		sum := sha256.Sum256([]byte(s.kinds() + "\n" + s.Selector))
		name += "-" + hex.EncodeToString(sum[:4])
	}
	return namespace, name
}

// anyDeclared is the value of the annotation AnnotationKinds for a scope with Declared.
const anyDeclared = "*"

// kinds returns the value of AnnotationKinds. The order of the kinds on the command line does not matter.
func (s Scope) kinds() string {
	if s.Declared {
		return anyDeclared
	}
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(s.Kinds))), ",")
}

// has reports whether a kind (plural.group) is in the scope.
func (s Scope) has(kind string) bool {
	return s.Declared || slices.Contains(s.Kinds, kind) || len(s.Kinds) == 0 && Ships(kind)
}

// Ships reports whether a kind (plural.group) ships with this program.
func Ships(kind string) bool {
	return slices.Contains([]string{
		"imoocpods." + apis.GroupImoocPod, "appservices." + apis.GroupAppService,
		"helloworlds." + apis.GroupHelloWorld, "mydaemonsets." + apis.GroupMyDaemonSet,
	}, kind)
}

// longestSelector is the maximum length of a selector in bytes. Anyone who can write leases can set
// a selector, and Covers parses it for each object.
const longestSelector = 4096

// Covers reports whether the scope includes an object with the given namespace, kind (plural.group), and labels.
func (s Scope) Covers(namespace, kind string, object map[string]string) bool {
	elsewhere := s.Namespace != "" && s.Namespace != namespace
	if elsewhere || !s.has(kind) || len(s.Selector) > longestSelector {
		return false
	}
	selector, err := labels.Parse(s.Selector)
	return err == nil && selector.Matches(labels.Set(object))
}

// Overlaps reports whether two scopes may share an object. It ignores selectors, because an object can match both.
func (s Scope) Overlaps(other Scope) bool {
	if s.Namespace != "" && other.Namespace != "" && s.Namespace != other.Namespace {
		return false
	}
	return len(s.Kinds)+len(other.Kinds) == 0 || slices.ContainsFunc(s.Kinds, other.has) || slices.ContainsFunc(other.Kinds, s.has)
}

// String describes the scope, such as "imoocpods.example.com in namespace a, where tier=front".
func (s Scope) String() string {
	what := "the shipped kinds"
	if len(s.Kinds) > 0 {
		what = strings.Join(s.Kinds, ", ")
	}
	if s.Declared {
		what += ", and all kinds that CRDs declare"
	}
	what += " in " + Where(s.Namespace)
	if s.Selector != "" {
		what += ", where " + s.Selector
	}
	return what
}

// Where describes the namespace of a scope for messages.
func Where(namespace string) string {
	if namespace == "" {
		return "all namespaces"
	}
	return "namespace " + namespace
}

// Loop is a running controller as recorded in its lease.
type Loop struct {
	// Holder identifies the process; it is empty if the lease was released.
	Holder string
	// User, Host, and PID describe who runs the loop and where. Machine distinguishes hosts with
	// the same name (apis.AnnotationMachine). Each field may be empty.
	User, Host, Machine string
	PID                 int
	// Ended means that the process has ended, even if the lease has not expired.
	Ended bool
	// Version is the version of the program.
	Version string
	Scope   Scope
	// Since is when the loop acquired the lease. Renewed is when it last renewed the lease.
	Since, Renewed time.Time
}

// LoopOf returns the loop that is recorded in a lease with the label apis.LabelController.
func LoopOf(lease *coordinationv1.Lease) Loop {
	about := lease.Annotations
	l := Loop{
		User: about[apis.AnnotationUser], Host: about[apis.AnnotationHost], Machine: about[apis.AnnotationMachine],
		Version: about[apis.AnnotationVersion],
		Scope:   Scope{Namespace: lease.Namespace, Selector: about[apis.AnnotationSelector]},
	}
	// Only a lease in LeaseNamespaceForAll can be for all namespaces.
	if lease.Namespace == apis.LeaseNamespaceForAll && about[apis.AnnotationNamespace] == metav1.NamespaceAll {
		l.Scope.Namespace = metav1.NamespaceAll
	}
	if pid, err := strconv.Atoi(about[apis.AnnotationPID]); err == nil {
		l.PID = pid
	}
	if kinds := about[apis.AnnotationKinds]; kinds == anyDeclared {
		l.Scope.Declared = true
	} else if kinds != "" {
		l.Scope.Kinds = strings.Split(kinds, ",")
	}
	l.Holder = ptr.Deref(lease.Spec.HolderIdentity, "")
	l.Since = ptr.Deref(lease.Spec.AcquireTime, metav1.MicroTime{}).Time
	l.Renewed = ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{}).Time
	return l
}

// Annotations returns the annotations for the loop's lease. LoopOf reads them.
func (l Loop) Annotations() map[string]string {
	return map[string]string{
		apis.AnnotationUser: l.User, apis.AnnotationHost: l.Host, apis.AnnotationMachine: l.Machine,
		apis.AnnotationPID: strconv.Itoa(l.PID), apis.AnnotationVersion: l.Version,
		apis.AnnotationNamespace: l.Scope.Namespace, apis.AnnotationKinds: l.Scope.kinds(), apis.AnnotationSelector: l.Scope.Selector,
	}
}

// Longest is the maximum time that any lease is valid without a renewal. Without this limit, anyone who
// writes a lease with a long duration could stop a loop for years.
const Longest = time.Minute

// Live reports whether the loop holds its lease, has not ended, and last renewed the lease less than Longest
// before or after now. Longest exceeds the duration of a lease, because the clocks of two machines may differ.
// So a loop that was killed on another machine counts as live until Longest has passed. A loop that waits for the lease
// uses only its own clock (see Get in pkg/controller/lease).
func (l Loop) Live(now time.Time) bool {
	return l.Holder != "" && !l.Ended && now.Sub(l.Renewed).Abs() < Longest
}

// String describes the loop, such as "alice on laptop (process 4711), since 2026-01-02 15:04:05 UTC".
func (l Loop) String() string {
	who := l.Holder
	if l.User != "" && l.Host != "" && l.PID != 0 {
		who = fmt.Sprintf("%s on %s (process %d)", l.User, l.Host, l.PID)
	}
	if l.Since.IsZero() {
		return who
	}
	return who + ", since " + l.Since.UTC().Format("2006-01-02 15:04:05 MST")
}
