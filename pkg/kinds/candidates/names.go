package candidates

import (
	"slices"
	"strings"
	"unicode"
)

// looksLikeCount reports whether the name of an integer field suggests a replica count: the whole name (replicas,
// clustersize), or its last words (numberOfInstances, workerReplicas). within is the name of the enclosing field.
func looksLikeCount(name, within string) bool {
	words := Words(name)
	if len(words) == 0 || slices.ContainsFunc(words, bounds) {
		return false
	}
	if per := slices.Index(words, "per"); per > 0 {
		words = words[:per] // for example replicasPerShard
	}
	last := words[len(words)-1]
	tallies := []string{"count", "size", "num", "number"} // these words follow the counted word
	switch {
	case len(words) > 1 && slices.Contains(tallies, last):
		return endsInUnit(words[:len(words)-1])
	case last == "size" || last == "count":
		return !slices.ContainsFunc(Words(within), measured)
	case last == "scale" || last == "replica":
		return len(words) == 1
	case strings.HasSuffix(last, "s") && unit(last):
		return true
	}
	// The words may be joined, as in replicacount, clustersize, and desiredreplicas.
	for _, end := range tallies {
		if before, had := strings.CutSuffix(last, end); had && endsInUnit([]string{before}) {
			return true
		}
	}
	return len(words) == 1 && strings.HasSuffix(last, "replicas") && !strings.HasPrefix(last, "min") && !strings.HasPrefix(last, "max")
}

// endsInUnit reports whether words end with a unit, or with a word such as "cluster". After a unit, it
// also accepts "pool", "group", and "set".
func endsInUnit(words []string) bool {
	last := words[len(words)-1]
	switch last {
	case "cluster", "ensemble", "fleet", "desired":
		return true
	case "pool", "group", "set": // for example nodePoolSize
		return len(words) > 1 && unit(words[len(words)-2])
	}
	return unit(last)
}

// unit reports whether a word, in singular or plural, is a name for replicas, such as "workers".
func unit(word string) bool {
	return slices.Contains([]string{
		"replica", "instance", "member", "node", "server", "worker", "pod", "shard", "broker", "machine", "host",
		"peer", "agent", "executor", "runner", "master", "slave", "follower", "observer", "arbiter",
	}, strings.TrimSuffix(word, "s"))
}

// bounds reports whether a word in a field name means that the field is not a replica count.
func bounds(word string) bool {
	return slices.Contains([]string{
		"min", "minimum", "max", "maximum", "limit", "quota", "available", "unavailable", "surge", "ready", "updated",
		"percent", "percentage", "ratio", "factor", "priority", "weight", "history", "revision", "partition",
		"parallelism", "parallel", "concurrency", "concurrent", "thread", "threads", "port", "ports", "burst",
		"second", "seconds", "secs", "millis", "ms", "minutes", "hours", "timeout", "interval", "delay", "retry", "retries",
		"queue", "cpu", "memory", "id", "index",
	}, word)
}

// measured reports whether the size or count of something with this name is not a replica count.
func measured(word string) bool {
	return slices.Contains([]string{
		"storage", "volume", "volumes", "persistence", "pvc", "disk", "disks", "buffer", "cache", "memory", "heap",
		"queue", "batch", "thread", "threads", "connection", "connections", "gpu", "device", "devices", "log", "logs", "page", "block",
	}, word)
}

// unrelated reports whether all numbers in a field with this name are known to have other meanings.
func unrelated(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "metadata", "podtemplate", "podspec", "containers", "initcontainers", "ephemeralcontainers", "container", "sidecars",
		"volumeclaimtemplate", "volumeclaimtemplates", "persistentvolumeclaimtemplate", "volumes", "volumemounts", "volumedevices",
		"affinity", "tolerations", "topologyspreadconstraints", "resources", "lifecycle", "env", "envfrom", "ports",
		"hostaliases", "dnsconfig", "imagepullsecrets", "selector", "nodeselector",
		"strategy", "updatestrategy", "scalestrategy", "upgradestrategy", "deploymentstrategy", "rollingupdate":
		return true
	}
	return strings.HasSuffix(name, "probe") || strings.HasSuffix(name, "securitycontext") || strings.HasSuffix(name, "affinity")
}

// rank returns the order of a name among fields at the same depth: "replicas", others with "replica",
// all others, and last those with "shard", because a shard has several replicas.
func rank(name string) int {
	name = strings.ToLower(name)
	switch {
	case name == "replicas":
		return 0
	case strings.Contains(name, "replica"):
		return 1
	case strings.Contains(name, "shard"):
		return 3
	}
	return 2
}

// Words returns the words of a name in lower case. numberOfInstances, number_of_instances, and
// number-of-instances have the same three words. A sequence of capital letters, such as HTTP, is one word.
func Words(name string) []string {
	var spaced strings.Builder // the words, with spaces between them
	runes := []rune(name)
	for i, c := range runes {
		afterLower := i > 0 && !unicode.IsUpper(runes[i-1])
		beforeLower := i+1 < len(runes) && unicode.IsLower(runes[i+1])
		switch {
		case !unicode.IsLetter(c) && !unicode.IsDigit(c):
			c = ' '
		case unicode.IsUpper(c) && (afterLower || beforeLower):
			spaced.WriteByte(' ')
		}
		spaced.WriteRune(unicode.ToLower(c))
	}
	return strings.Fields(spaced.String())
}

// Unit returns the unit of a count with this name: "shard", "task", or "pod".
func Unit(name string) string {
	for _, word := range Words(name) {
		switch word = strings.TrimSuffix(word, "s"); word {
		case "shard", "task":
			return word
		}
	}
	return "pod"
}
