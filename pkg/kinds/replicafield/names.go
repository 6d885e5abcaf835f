package replicafield

import (
	"slices"
	"strings"
)

// looksLikeCount reports whether an integer field may be a replica count, by its
// name and that of the field it is in: replicas, size, count, nodes, …, by its
// whole name (clustersize) or by its last words (numberOfInstances,
// workerReplicas, shardCount).
func looksLikeCount(name, within string) bool {
	words := Words(name)
	if len(words) == 0 || slices.ContainsFunc(words, bounds) {
		return false
	}
	if per := slices.Index(words, "per"); per > 0 {
		words = words[:per] // replicasPerShard
	}
	last := words[len(words)-1]
	tallies := []string{"count", "size", "num", "number"} // after the word for what is counted
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
	// One word: replicacount, clustersize, desiredreplicas.
	for _, end := range tallies {
		if before, had := strings.CutSuffix(last, end); had && endsInUnit([]string{before}) {
			return true
		}
	}
	return len(words) == 1 && strings.HasSuffix(last, "replicas") && !strings.HasPrefix(last, "min") && !strings.HasPrefix(last, "max")
}

// endsInUnit says that the words before a tally are of a thing that comes in
// replicas: those of a pool or a queue are something else.
func endsInUnit(words []string) bool {
	last := words[len(words)-1]
	switch last {
	case "cluster", "ensemble", "fleet", "desired":
		return true
	case "pool", "group", "set": // nodePoolSize
		return len(words) > 1 && unit(words[len(words)-2])
	}
	return unit(last)
}

// unit is a thing that there may be several of, in the singular or plural.
func unit(word string) bool {
	switch strings.TrimSuffix(word, "s") {
	case "replica", "instance", "member", "node", "server", "worker", "pod", "shard", "broker", "machine", "host",
		"peer", "agent", "executor", "runner", "master", "slave", "follower", "observer", "arbiter":
		return true
	}
	return false
}

// bounds is a word in the names of numbers that limit or qualify a count.
func bounds(word string) bool {
	switch word {
	case "min", "minimum", "max", "maximum", "limit", "quota", "available", "unavailable", "surge", "ready", "updated",
		"percent", "percentage", "ratio", "factor", "priority", "weight", "history", "revision", "partition",
		"parallelism", "parallel", "concurrency", "concurrent", "thread", "threads", "port", "ports", "burst",
		"second", "seconds", "secs", "millis", "ms", "minutes", "hours", "timeout", "interval", "delay", "retry", "retries",
		"queue", "cpu", "memory", "id", "index":
		return true
	}
	return false
}

// measured is a word in the names of things whose size or count is none of
// replicas.
func measured(word string) bool {
	switch word {
	case "storage", "volume", "volumes", "persistence", "pvc", "disk", "disks", "buffer", "cache", "memory", "heap",
		"queue", "batch", "thread", "threads", "connection", "connections", "gpu", "device", "devices", "log", "logs", "page", "block":
		return true
	}
	return false
}

// unrelated says that what is in the field is known to hold numbers that are no
// replica counts.
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

// rank orders the names at one depth: the word of the API convention before
// other words for it, and those before shards, which have replicas themselves.
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
