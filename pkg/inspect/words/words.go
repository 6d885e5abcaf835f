// Package words interprets the words, conditions, and fields that report the state of an object.
package words

import (
	"slices"
	"strings"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
)

// Meaning is the state of an object that a word describes. A more serious meaning has a greater value.
type Meaning int

// The meanings. If a broken object has pods, it may recover by itself, for example while the pods start.
const (
	Nothing Meaning = iota // the word does not describe the state of the object
	Ready                  // the object matches its spec
	Done                   // the object has completed, and the state of its parts is ignored
	Paused                 // someone has paused or stopped the object
	Working                // the object is not ready yet
	Broken                 // something is wrong with the object
	Failed                 // the object does not recover by itself
)

// lexicon maps words, in lower case and without separators, to their meanings.
var lexicon = func() map[string]Meaning { //nolint:gochecknoglobals // never changed
	all := map[string]Meaning{}
	for meaning, words := range map[Meaning]string{
		Ready: `ready healthy available ok up online active alive running live serving operational normal good green stable exists
			synced insync synchronized uptodate reconciled applied deployed installed provisioned established resolved released
			programmed accepted admitted bound attached connected joined issued published promoted provided valid compliant
			functioning operating listening streaming following leading passing`,
		Done:   `complete completed done finished succeeded success successful successfully passed`,
		Paused: `paused pause suspended suspend hibernated hibernation hibernating stopped`,
		Working: `pending waiting queued progressing progress inprogress processing reconciling creating provisioning initializing
			bootstrapping starting preparing scheduling deploying installing configuring building applying syncing
			synchronizing updating upgrading migrating scaling scalingup scalingdown expanding resizing rolling rollingout
			rollingupdate restarting rebooting recovering remediating repairing restoring rebalancing replacing rotating issuing validating
			registering finalizing promoting cleaning canceling stopping pausing suspending resuming deleting terminating
			draining uninstalling removing retrying notready unready unavailable unknown outofsync unsynced outdated stale partial
			partially warn yellow missing noncompliant violation violated offline down disconnected inactive terminated dead`,
		Broken: `unhealthy red warning crash crashing crashed crashloop crashloopbackoff failing faulty faulted denied forbidden
			unauthorized timeout timedout expired critical corrupt corrupted lost bad conflict conflicted halted misconfigured incompatible
			fallback unable abnormal rolledback`,
		Failed: `failed fail fails failure failures error errors errored err invalid rejected degraded stalled aborted abort canceled
			unrecoverable irrecoverable irreconcilable fatal broken terminal`,
	} {
		for word := range strings.FieldsSeq(words) {
			all[word] = meaning
		}
	}
	return all
}()

// phrases replaces phrases such as "in progress" with single words, and British spellings with American ones.
var phrases = strings.NewReplacer( //nolint:gochecknoglobals // never changed
	" up to date ", " uptodate ", " in progress ", " inprogress ", " in sync ", " insync ", " out of sync ", " outofsync ",
	" non compliant ", " noncompliant ", " timed out ", " timedout ", " could not ", " cannot ", " can not ", " cannot ", " not found ", " notfound ", " no such ", " notfound ", " not supported ", " unsupported ", " no valid ", " invalid ", " not valid ", " invalid ",
	" scaled down ", " scaleddown ", " booking expired ", " bookingexpired ", " error free ", " healthy ", " requires approval ", " suspended ", " waiting for approval ", " suspended ", " pending approval ", " suspended ", " cancell", " cancel")

// fillers returns words that do not change the meaning of other words.
func fillers() []string {
	return []string{"all", "is", "has", "the", "a", "to", "in", "occurred", "replicas", "pods", "resources", "cluster", "health", "reconcile", "release", "spec", "fully", "state"}
}

// negates reports whether a word reverses the meaning of the following words.
func negates(word string) bool {
	return slices.Contains([]string{"not", "non", "no", "never", "without", "0"}, word)
}

func known(word string) bool {
	return lexicon[word] > Nothing || negates(word) || slices.Contains(fillers(), word)
}

// Split returns the lower-case words of a name such as "NotReady" or "NOT_READY", after the replacements in phrases.
func Split(name string) []string {
	return strings.Fields(phrases.Replace(" " + strings.Join(candidates.Words(name), " ") + " "))
}

// among reports whether any of the words is in a list.
func among(words []string, list ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(list, word) })
}

func lastOf(words []string) []string { return words[max(0, len(words)-1):] }

// longest is the maximum number of words in a state. In a longer text, only the first word can be a state.
const longest = 8

// Of returns the meaning of a state, such as "Running" or "Cluster in healthy state". The most
// serious word decides. A state with an unknown word, such as "VolumeBound", is never Ready or Done. An unknown word
// such as "Inspecting" means Working, alone or before another word.
func Of(state string) Meaning {
	words := Split(state)
	if len(words) > longest {
		words = words[:1]
	}
	meaning := worst(words)
	if meaning <= Done && slices.ContainsFunc(words, func(w string) bool { return !known(w) }) {
		if work := words[0]; len(words) <= 2 && strings.HasSuffix(work, "ing") && !strings.HasSuffix(work, "thing") && !known(work) {
			return Working
		}
		return Nothing
	}
	return meaning
}

// worst returns the most serious meaning of the words. If only a part failed, as in "fetch failed", it returns Broken.
func worst(words []string) Meaning {
	if whole := lexicon[strings.Join(words, "")]; whole > Nothing {
		return whole
	}
	most, negated, part := Nothing, false, false
	for _, word := range words {
		meaning := lexicon[word]
		switch {
		case negates(word):
			negated = true
		case negated && (meaning == Ready || meaning == Done):
			meaning = Working
		case negated:
			meaning = Nothing
		}
		part = part || !known(word)
		most = max(most, meaning)
	}
	if most == Failed && part {
		return Broken
	}
	return most
}
