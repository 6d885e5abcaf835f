package status

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	utilversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
)

// Check is one thing that must be in place for the program to work on a cluster.
type Check struct {
	// Name says what was looked at, in a few words.
	Name string `json:"name"`
	// State is how it was found.
	State CheckState `json:"state"`
	// Message says what was found.
	Message string `json:"message"`
	// Fix are commands that would put it in place; whoever runs them may need more
	// rights.
	Fix []string `json:"fix,omitempty"`
}

// CheckState is how a check came out.
type CheckState string

// The states of a check.
const (
	// CheckPassed: it is in place.
	CheckPassed CheckState = "passed"
	// CheckFailed: it is not.
	CheckFailed CheckState = "failed"
	// CheckUnknown: it could not be looked at, mostly for want of rights.
	CheckUnknown CheckState = "unknown"
)

// oldestServer is the first version in which the rules of the CRDs (CEL) are
// not a beta that may be off: an older one would let through what they refuse.
const oldestServer = "1.29"

const install = "kubectl imoocpod install"

// CheckServer looks at the version that a server tells of itself.
func CheckServer(version, host string) Check {
	c := Check{Name: "server", State: CheckPassed, Message: version + " at " + host}
	v, err := utilversion.ParseGeneric(version)
	if err != nil {
		c.State, c.Message = CheckUnknown, fmt.Sprintf("its version %q cannot be read", version)
	} else if v.LessThan(utilversion.MustParseGeneric(oldestServer)) {
		c.State, c.Message = CheckFailed, fmt.Sprintf("%s is too old: %s or newer is needed", c.Message, oldestServer)
	}
	return c
}

// CheckCRD holds a CRD of the server, nil if it is not there, against the one
// that the program carries.
func CheckCRD(name string, want, have map[string]any) Check {
	c := Check{Name: "CRD " + name, State: CheckFailed, Fix: []string{install}}
	switch {
	case have == nil:
		c.Message = "is not installed"
	case fieldOf(have, "metadata", "deletionTimestamp") != nil:
		c.Message = "is being deleted, with all its objects"
	case !isEstablished(have):
		c.Message = "is installed but not served: see its conditions"
		c.Fix = []string{"kubectl describe crd " + name}
	case !sameJSON(fieldOf(want, "spec", "versions"), fieldOf(have, "spec", "versions")):
		c.Message = "differs from the definition of this version"
	default:
		c = Check{Name: c.Name, State: CheckPassed, Message: "is installed and matches this version"}
	}
	return c
}

func fieldOf(obj map[string]any, path ...string) any {
	for _, name := range path[:len(path)-1] {
		obj, _ = obj[name].(map[string]any)
	}
	return obj[path[len(path)-1]]
}

func isEstablished(crd map[string]any) bool {
	conditions, _ := fieldOf(crd, "status", "conditions").([]any)
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == "Established" && condition["status"] == "True"
	})
}

// sameJSON compares values of which one was read from YAML, so that its numbers
// are of another type.
func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// Right is what somebody may do, or not.
type Right struct {
	Verb, Group, Resource, Subresource string
	// Name is the one object that it is about; empty: all.
	Name string
	// Clusterwide says that the resource is in no namespace.
	Clusterwide bool
}

// String says the right as "kubectl auth can-i" takes it.
func (r Right) String() string { return r.Verb + " " + r.resource() }

func (r Right) resource() string {
	s := r.Resource
	if r.Group != "" {
		s += "." + r.Group
	}
	if r.Subresource != "" {
		s += "/" + r.Subresource
	}
	return s
}

// CheckRights reports whether somebody may do what a verb of the program does, in
// a namespace or, if that is empty, in all. Missing are the rights that the
// server refuses, asked says that it could be asked.
func CheckRights(verb string, missing []Right, asked bool, user, namespace string) Check {
	c := Check{Name: "permission to " + verb, State: CheckPassed, Message: "ok (" + user + ")"}
	switch {
	case !asked:
		c.State, c.Message = CheckUnknown, "not reported"
	case len(missing) > 0:
		words := make([]string, len(missing))
		for i, right := range missing {
			words[i] = right.String()
		}
		const most = 4
		if more := len(words) - most; more > 1 {
			words = append(words[:most], fmt.Sprintf("and %d more", more))
		}
		c.State, c.Message = CheckFailed, user+" has no permission to "+strings.Join(words, ", ")
		c.Fix = grant(verb, missing, user, namespace)
	}
	return c
}

// grant gives the commands that give somebody rights: a role for each verb, as
// kubectl makes one of all verbs with all resources, and a binding to each.
func grant(what string, missing []Right, user, namespace string) []string {
	where, role, to := " -n "+namespace, "role", " --user="+escape.ShellWord(user)
	if namespace == "" || slices.ContainsFunc(missing, func(r Right) bool { return r.Clusterwide }) {
		where, role = "", "clusterrole"
	}
	if account, is := strings.CutPrefix(user, "system:serviceaccount:"); is {
		to = " --serviceaccount=" + escape.ShellWord(account)
	}
	verbsOf := map[string][]string{}
	for _, r := range missing {
		verbsOf[r.resource()] = append(verbsOf[r.resource()], r.Verb)
	}
	resourcesOf := map[string][]string{}
	for resource, verbs := range verbsOf {
		slices.Sort(verbs)
		key := strings.Join(verbs, ",")
		resourcesOf[key] = append(resourcesOf[key], resource)
	}
	var commands []string
	for i, verbs := range sortedKeys(resourcesOf) {
		name := "imoocpod-" + what
		if i > 0 {
			name += fmt.Sprintf("-%d", i+1)
		}
		slices.Sort(resourcesOf[verbs])
		commands = append(commands,
			fmt.Sprintf("kubectl create %s %s --verb=%s --resource=%s%s", role, name, verbs, strings.Join(resourcesOf[verbs], ","), where),
			fmt.Sprintf("kubectl create %sbinding %s --%s=%s%s%s", role, name, role, name, to, where))
	}
	return commands
}

func sortedKeys(m map[string][]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// CheckDeclared says of kinds (plural.group) that CRDs declare, and of which there
// are objects in a namespace or, if that is empty, anywhere, whether a loop
// reconciles them.
func CheckDeclared(loops []Loop, kinds []string, namespace string, now time.Time) []Check {
	orphans := slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool {
		return slices.ContainsFunc(loops, func(l Loop) bool {
			return l.Live(now) && l.Scope.Overlaps(Scope{Namespace: namespace, Kinds: []string{kind}}) && (namespace != "" || l.Scope.Namespace == "")
		})
	})
	if len(orphans) == 0 {
		return nil
	}
	return []Check{{
		Name: "controller", State: CheckFailed, Message: "no controller reconciles " + strings.Join(orphans, ", ") + " in " + where(namespace),
		Fix: []string{runLoop(namespace) + " --kinds " + strings.Join(orphans, ",")},
	}}
}

// CheckLoops says which loops run, of those whose leases could be read, and
// whether they reconcile the kinds (plural.group) in a namespace or, if that is
// empty, in all. version is this program's own.
func CheckLoops(loops []Loop, kinds []string, namespace, version string, now time.Time) []Check {
	var checks []Check
	var last Loop
	orphans, runs := slices.Clone(kinds), false
	for _, l := range loops {
		// Whatever it reconciles: a kind that a CRD declares is as good as another.
		if namespace != "" && l.Scope.Namespace != "" && l.Scope.Namespace != namespace {
			continue
		}
		if !l.Live(now) {
			if doubts := l.doubts(now); l.Holder != "" && doubts != "" {
				checks = append(checks, Check{Name: "controller", State: CheckFailed, Message: fmt.Sprintf("%s: %s%s", l.Scope, l, doubts)})
			} else if l.Holder != "" && l.Renewed.After(last.Renewed) {
				last = l
			}
			continue
		}
		runs = runs || namespace != "" || l.Scope.Namespace == ""
		orphans = slices.DeleteFunc(orphans, func(kind string) bool {
			// One that works for some objects is not missing, nor one that is at
			// work in a single namespace where all are meant.
			return l.Scope.Overlaps(Scope{Namespace: namespace, Kinds: []string{kind}}) && (namespace != "" || l.Scope.Namespace == "")
		})
		c := Check{Name: "controller", State: CheckPassed, Message: fmt.Sprintf("%s: %s", l.Scope, l)}
		if doubts := l.doubts(now); doubts != "" {
			c.State, c.Message = CheckUnknown, c.Message+doubts
		}
		if l.Version != "" && l.Version != version {
			c.State, c.Message = CheckFailed, fmt.Sprintf("%s; it is version %s, but this program is version %s: stop it, and start this version", c.Message, l.Version, version)
			c.Fix = []string{runLoop(l.Scope.Namespace)}
		}
		checks = append(checks, c)
	}
	if len(orphans) == 0 {
		return checks
	}
	c := Check{Name: "controller", State: CheckFailed, Message: "no controller reconciles " + strings.Join(orphans, ", ") + " in " + where(namespace), Fix: []string{runLoop(namespace)}}
	if len(orphans) == len(kinds) && !runs {
		c.Message = "no controller is running for " + where(namespace)
	}
	if !last.Renewed.IsZero() {
		c.Message += fmt.Sprintf("; the last one was %s, and last renewed its lease at %s", last, last.Renewed.UTC().Format("15:04:05 MST"))
	}
	return append(checks, c)
}

func runLoop(namespace string) string {
	if namespace == "" {
		return "kubectl imoocpod run-controller -A"
	}
	return "kubectl imoocpod run-controller -n " + namespace
}

func where(namespace string) string {
	if namespace == "" {
		return "all namespaces"
	}
	return "namespace " + namespace
}

// CheckDeployed compares the version of a controller that is deployed in a
// namespace with the program's own.
func CheckDeployed(namespace, has, version string) Check {
	c := Check{Name: "controller in " + namespace, State: CheckPassed, Message: "is deployed, version " + has}
	switch {
	case has == "":
		c.State, c.Message = CheckUnknown, "is deployed, but its version is unknown"
	case has != version:
		c.State, c.Message = CheckFailed, fmt.Sprintf("is deployed, version %s, but this program is version %s", has, version)
		c.Fix = []string{install + " --controller -n " + namespace}
	}
	return c
}

// CheckHeldUp says which objects get no pods because something refuses them.
func CheckHeldUp(reports []Report) []Check {
	var checks []Check
	for _, r := range reports {
		for _, p := range r.Problems {
			if !slices.Contains([]Code{CodeQuotaExceeded, CodeAdmissionRefused, CodeNameTaken, CodeCreateFailed}, p.Code) {
				continue
			}
			c := Check{Name: "pods", State: CheckFailed, Message: fmt.Sprintf("%s/%s in namespace %s: %s", r.Metadata.Type, r.Metadata.Name, r.Metadata.Namespace, p.Message)}
			c.Fix = []string{fmt.Sprintf("kubectl imoocpod describe %s/%s -n %s", r.Metadata.Type, r.Metadata.Name, r.Metadata.Namespace)}
			if p.Code == CodeQuotaExceeded {
				c.Fix = []string{"kubectl describe quota -n " + r.Metadata.Namespace}
			}
			checks = append(checks, c)
		}
	}
	if len(checks) == 0 {
		checks = []Check{{Name: "pods", State: CheckPassed, Message: "none is blocked by a quota or by admission"}}
	}
	return checks
}

// longPause is how long a pause may last to be left to end by itself.
const longPause = 24 * time.Hour

// CheckPaused reminds of the objects that are paused, if there are any, with the
// commands that resume those whose pause is not about to end by itself.
func CheckPaused(reports []Report, namespace string, now time.Time) []Check {
	c := Check{Name: "pauses", State: CheckPassed}
	paused, long := 0, 0
	for _, r := range reports {
		if r.Pause == nil {
			continue
		}
		paused++
		if r.Pause.Forever || r.Pause.Until.Sub(now) > longPause {
			long++
			c.Fix = append(c.Fix, fmt.Sprintf("kubectl imoocpod resume %s/%s -n %s", r.Metadata.Type, r.Metadata.Name, r.Metadata.Namespace))
		}
	}
	if paused == 0 {
		return nil
	}
	c.Message = quantity(paused, "object") + " paused"
	if long > 0 {
		c.Message += fmt.Sprintf(", %d of them forever or for more than a day", long)
	}
	if c.Message += ": kubectl imoocpod status --paused"; namespace == "" {
		c.Message += " -A"
	} else {
		c.Message += inNamespace(namespace)
	}
	return []Check{c}
}
