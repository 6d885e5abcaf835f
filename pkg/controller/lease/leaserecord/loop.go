// Package leaserecord reads and writes what the lease of a running controller records: who
// runs it, where, since when, and which objects it reconciles.
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
	appcontroller "github.com/imoocpod/kubectl-imoocpod/pkg/apis/appcontroller/v1alpha1"
	apps "github.com/imoocpod/kubectl-imoocpod/pkg/apis/apps/v1beta1"
	batch "github.com/imoocpod/kubectl-imoocpod/pkg/apis/batch/v1alpha1"
	test "github.com/imoocpod/kubectl-imoocpod/pkg/apis/test/v1alpha1"
)

// Scope is what a loop reconciles.
type Scope struct {
	// Namespace is the one that it works in; empty means all.
	Namespace string
	// Kinds are those it was told to reconcile, as plural.group; none means all
	// that this program ships.
	Kinds []string
	// Declared says that it reconciles also all that CRDs declare; Kinds is empty.
	Declared bool
	// Selector selects the objects by their labels; empty means all.
	Selector string
}

// Lease names the lease of a scope. Loops of the same scope have the same one,
// so one of them works at a time; other scopes have others, also where they
// overlap (Overlaps).
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

// anyDeclared stands in a lease for all kinds, those that CRDs declare included.
const anyDeclared = "*"

// kinds lists the kinds in an order that does not depend on the command line.
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

// Ships reports whether a kind (plural.group) is shipped with this program.
func Ships(kind string) bool {
	return slices.Contains([]string{
		"imoocpods." + batch.GroupVersion().Group, "appservices." + appcontroller.GroupVersion().Group,
		"helloworlds." + test.GroupVersion().Group, "mydaemonsets." + apps.GroupVersion().Group,
	}, kind)
}

// Covers reports whether a loop of the scope reconciles an object of a kind
// (plural.group).
func (s Scope) Covers(namespace, kind string, object map[string]string) bool {
	if s.Namespace != "" && s.Namespace != namespace {
		return false
	}
	if !s.has(kind) {
		return false
	}
	selector, err := labels.Parse(s.Selector)
	return err == nil && selector.Matches(labels.Set(object))
}

// Overlaps reports whether two scopes may have objects in common. Two selectors
// always may: an object can have labels for both.
func (s Scope) Overlaps(other Scope) bool {
	if s.Namespace != "" && other.Namespace != "" && s.Namespace != other.Namespace {
		return false
	}
	return len(s.Kinds)+len(other.Kinds) == 0 || slices.ContainsFunc(s.Kinds, other.has) || slices.ContainsFunc(other.Kinds, s.has)
}

// String says what the scope is, such as "imoocpods.example.com in namespace a,
// where tier=front".
func (s Scope) String() string {
	what := "the built-in kinds"
	if len(s.Kinds) > 0 {
		what = strings.Join(s.Kinds, ", ")
	}
	if s.Declared {
		what += ", and all kinds that CRDs declare"
	}
	where := "all namespaces"
	if s.Namespace != "" {
		where = "namespace " + s.Namespace
	}
	what += " in " + where
	if s.Selector != "" {
		what += ", where " + s.Selector
	}
	return what
}

// Loop is a run-controller, as its lease records it.
type Loop struct {
	// Holder tells this process from every other; empty once the lease was given up.
	Holder string
	// User, Host and PID say where it runs; Machine tells apart what the host's
	// name does not (apis.AnnotationMachine). All may be empty.
	User, Host, Machine string
	PID                 int
	// Ended says that its process is known to have ended, whatever its lease says.
	Ended bool
	// Version is the version of the program.
	Version string
	Scope   Scope
	// Since is when it took the lease, Renewed when it last said that it lives, and
	// For is how long that holds.
	Since, Renewed time.Time
	For            time.Duration
}

// LoopOf reads a lease that has the label apis.LabelController.
func LoopOf(lease *coordinationv1.Lease) Loop {
	about := lease.Annotations
	l := Loop{
		User: about[apis.AnnotationUser], Host: about[apis.AnnotationHost], Machine: about[apis.AnnotationMachine],
		Version: about[apis.AnnotationVersion],
		Scope:   Scope{Namespace: lease.Namespace, Selector: about[apis.AnnotationSelector]},
	}
	// Whoever may write leases in a namespace can speak for that namespace alone.
	if lease.Namespace == apis.LeaseNamespaceForAll && about[apis.AnnotationNamespace] == metav1.NamespaceAll {
		l.Scope.Namespace = metav1.NamespaceAll
	}
	if pid, err := strconv.Atoi(about[apis.AnnotationPID]); err == nil {
		l.PID = pid
	}
	switch kinds := about[apis.AnnotationKinds]; kinds {
	case "":
	case anyDeclared:
		l.Scope.Declared = true
	default:
		l.Scope.Kinds = strings.Split(kinds, ",")
	}
	l.Holder = ptr.Deref(lease.Spec.HolderIdentity, "")
	l.Since = ptr.Deref(lease.Spec.AcquireTime, metav1.MicroTime{}).Time
	l.Renewed = ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{}).Time
	l.For = time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
	return l
}

// Annotations is what the loop writes on its lease, for LoopOf to read.
func (l Loop) Annotations() map[string]string {
	return map[string]string{
		apis.AnnotationUser: l.User, apis.AnnotationHost: l.Host, apis.AnnotationMachine: l.Machine,
		apis.AnnotationPID: strconv.Itoa(l.PID), apis.AnnotationVersion: l.Version,
		apis.AnnotationNamespace: l.Scope.Namespace, apis.AnnotationKinds: l.Scope.kinds(), apis.AnnotationSelector: l.Scope.Selector,
	}
}

// Longest is how long a lease counts at most that is not renewed, whatever its duration:
// a single write must not stop a loop for years.
const Longest = time.Minute

// Live reports whether the loop runs, for a command that reads its lease once: whether its
// last renewal is less than Longest away from now. That is longer than the lease lasts,
// because the clocks of two machines differ. A loop that was killed on another machine
// stays live until then. A loop that watches the lease waits for a renewal instead.
func (l Loop) Live(now time.Time) bool {
	return l.Holder != "" && !l.Ended && now.Before(l.Renewed.Add(Longest)) && !l.renewedLater(now)
}

// renewedLater reports whether the renew time is in the future, by more than the clocks of
// two machines differ.
func (l Loop) renewedLater(now time.Time) bool {
	return l.Renewed.After(now.Add(Longest))
}

// Doubts returns what is unusual about a lease that is held, "" for nothing. No loop of
// this program writes such a lease.
func (l Loop) Doubts(now time.Time) string {
	var doubts []string
	if l.renewedLater(now) {
		doubts = append(doubts, "its renew time is in the future ("+l.Renewed.UTC().Format("2006-01-02 15:04:05 MST")+")")
	}
	if l.For > Longest {
		doubts = append(doubts, fmt.Sprintf("its duration is %s", l.For))
		if ago := now.Sub(l.Renewed).Round(time.Second); ago > renewedWithin {
			doubts = append(doubts, fmt.Sprintf("it has not been renewed for %s", ago))
		}
	}
	if len(doubts) == 0 {
		return ""
	}
	return fmt.Sprintf("; check the lease: %s; another controller takes it over after %s without a renewal", strings.Join(doubts, ", "), Longest)
}

// renewedWithin is how long ago a running loop has renewed its lease at most.
const renewedWithin = 15 * time.Second

// String says who it is, such as "alice on laptop (process 4711), since
// 2026-01-02 15:04:05 UTC".
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
