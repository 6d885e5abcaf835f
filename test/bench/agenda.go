package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// agenda is what to measure, and how often.
type agenda struct {
	sizes []size
	// concurrencies lists the numbers of parallel raw requests. Every round measures
	// each of them.
	concurrencies []int
	// The idle loop has idleObjects objects of idlePods pods each.
	idleObjects, idlePods int
	idleWindow            time.Duration
	// followed lists the sizes of the objects that commands follow while their pods
	// start.
	followed []followedSize
	// endings is the number of waits whose end is measured.
	endings int
	// rested is the number of objects that are followed while nothing changes.
	rested     int
	restWindow time.Duration
	// many is the number of pods of the object that is followed to measure the memory.
	many int
	// commands is the number of runs of each command line.
	commands int
	// changes is how often an object is scaled to measure the cost of a reconcile.
	changes int
	// benchtime is the value of -benchtime for "go test -bench".
	benchtime string
	loop      loopAgenda
}

// loopAgenda is the size of the clusters for the loop.
type loopAgenda struct {
	// One loop reconciles wideObjects objects with one pod each, of wideKinds declared
	// kinds, in wideNamespaces namespaces.
	wideObjects, wideKinds, wideNamespaces int
	// A loop with heldObjects objects of heldPods pods each fails while a standby runs. killed and
	// frozen are the numbers of rounds in which the loop is killed or frozen.
	heldObjects, heldPods int
	killed, frozen        int
	// backlog is the number of objects whose pods are all missing when a loop starts.
	// backlogChanges is the number of other objects that change while the loop creates these pods.
	backlog, backlogChanges int
	// bigPods is the number of pods of one large object. others is the number of
	// objects that are scaled by one pod meanwhile.
	bigPods, others int
	// besideObjects is the number of objects that are scaled at the same time, in
	// each of besideRounds rounds.
	besideObjects, besideRounds int
	// flapping is how long the replica count of an object flaps.
	flapping time.Duration
	// rolled is the number of pods that are replaced in each of rolledRounds
	// rounds.
	rolled, rolledRounds int
	// nodes is the number of additional nodes for an object with a pod on every node. The last of
	// nodeRounds rounds also adds and removes nodes. churn is how long it does so.
	nodes, nodeRounds int
	churn             time.Duration
}

// size is a number of pods. Each run scales an object from zero to this number, and back.
type size struct {
	pods int
	// rounds is the number of runs of each subject. shipped is the number of runs of the
	// ReplicaSet as shipped, which creates 20 pods per second.
	rounds, shipped int
	// growth is set if only raw requests and our loop run at this size, to measure how the time
	// grows.
	growth bool
}

// followedSize holds the numbers of starting pods, unrelated pods, and rounds.
type followedSize struct{ pods, others, rounds int }

func fullAgenda() agenda {
	return agenda{
		sizes: []size{
			{pods: 1, rounds: 3, shipped: 3},
			{pods: 100, rounds: 3, shipped: 1},
			{pods: 300, rounds: 3, growth: true},
			{pods: 500, rounds: 7, shipped: 1},
			{pods: 1000, rounds: 5},
			{pods: 3000, rounds: 2},
		},
		concurrencies: []int{32, 64, 128},
		idleObjects:   1000, idlePods: 5, idleWindow: time.Minute,
		followed: []followedSize{{pods: 500, rounds: 3}, {pods: 500, others: 5000, rounds: 3}},
		endings:  20,
		rested:   100, restWindow: 8 * time.Second,
		many:      10_000,
		commands:  15,
		changes:   30,
		benchtime: "0.2s",
		loop: loopAgenda{
			wideObjects: 10_000, wideKinds: 100, wideNamespaces: 200,
			heldObjects: 1000, heldPods: 5, killed: 3, frozen: 2,
			backlog: 5000, backlogChanges: 20,
			bigPods: 10_000, others: 100,
			besideObjects: 20, besideRounds: 2,
			flapping: 30 * time.Second,
			rolled:   500, rolledRounds: 3,
			nodes: 1000, nodeRounds: 2, churn: 20 * time.Second,
		},
	}
}

func quickAgenda() agenda {
	return agenda{
		sizes:         []size{{pods: 1, rounds: 1, shipped: 1}, {pods: 15, rounds: 1, growth: true}, {pods: 30, rounds: 1}},
		concurrencies: []int{4, 8},
		idleObjects:   5, idlePods: 2, idleWindow: 2 * time.Second,
		followed: []followedSize{{pods: 10, rounds: 1}, {pods: 10, others: 10, rounds: 1}}, endings: 1,
		rested: 3, restWindow: 2 * time.Second, many: 20,
		commands: 1, changes: 2, benchtime: "1x",
		loop: loopAgenda{
			wideObjects: 12, wideKinds: 3, wideNamespaces: 4,
			heldObjects: 5, heldPods: 2, killed: 1, frozen: 1,
			backlog: 20, backlogChanges: 2,
			bigPods: 60, others: 4,
			besideObjects: 2, besideRounds: 1,
			flapping: 5 * time.Second,
			rolled:   12, rolledRounds: 1,
			nodes: 10, nodeRounds: 1, churn: 2 * time.Second,
		},
	}
}

// measure measures the rules, the commands, the scaling, and an idle loop.
func (b *bench) measure(ctx context.Context, todo agenda) (*results, error) {
	r := &results{agenda: todo}
	var err error
	if r.machine, err = b.describe(ctx); err != nil {
		return nil, err
	}
	if r.rules, err = b.benchmarkRules(ctx, todo.benchtime); err != nil {
		return nil, err
	}
	if r.commands, err = b.compareCommands(ctx, todo.commands); err != nil {
		return nil, err
	}
	if r.runs, err = b.compareScaling(ctx, todo); err != nil {
		return nil, err
	}
	if r.idle, err = b.measureIdle(ctx, todo); err != nil {
		return nil, err
	}
	return r, nil
}

// measureFollowing measures the commands that follow objects.
func (b *bench) measureFollowing(ctx context.Context, todo agenda) (*results, error) {
	r := &results{agenda: todo}
	var err error
	if r.machine, err = b.describe(ctx); err != nil {
		return nil, err
	}
	if err := b.installCloneSets(ctx); err != nil {
		return nil, fmt.Errorf("install a kind: %w", err)
	}
	for _, one := range []struct {
		name    string
		measure func() error
	}{
		{"While the pods come up", func() (err error) { r.followings, err = b.compareFollowing(ctx, todo); return err }},
		{"A single look", func() (err error) { r.commands, err = b.compareLooks(ctx, todo.commands); return err }},
		{"Removing the pods of others", func() error { return b.removeOthers(ctx) }},
		{"After the last pod is ready", func() (err error) { r.endings, err = b.measureEndings(ctx, todo.endings); return err }},
		{"At rest", func() (err error) { r.rested, err = b.measureRest(ctx, todo.rested, todo.restWindow); return err }},
		{"Many pods", func() (err error) { r.many, err = b.measureMany(ctx, todo.many); return err }},
	} {
		began := time.Now()
		if err := one.measure(); err != nil {
			return nil, fmt.Errorf("%s: %w", one.name, err)
		}
		say("%s took %.0f s", one.name, time.Since(began).Seconds())
	}
	return r, nil
}

// measureLoop answers the questions about the loop with the given names, or all if none are given.
// If a measurement fails, the report says so, and the other questions are still answered.
func (b *bench) measureLoop(ctx context.Context, todo agenda, only []string) (*results, error) {
	r := &results{agenda: todo, parts: map[string]part{}}
	var err error
	if r.machine, err = b.describe(ctx); err != nil {
		return nil, err
	}
	for _, one := range b.questions() {
		if len(only) > 0 && !slices.Contains(only, one.name) {
			continue
		}
		if r.parts[one.name], err = b.ask(ctx, one, todo.loop); err != nil {
			return nil, err
		}
	}
	return r, nil
}
