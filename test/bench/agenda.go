package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// agenda says what is measured, and how often.
type agenda struct {
	sizes []size
	// concurrencies are how many raw requests are under way at once: each number in
	// every round.
	concurrencies []int
	// idle has so many objects of so many pods each, looked at for a while.
	idleObjects, idlePods int
	idleWindow            time.Duration
	// followed are the objects whose pods come up while commands follow them.
	followed []followedSize
	// endings is how often each way to wait is used.
	endings int
	// rested are so many objects that are followed while nothing changes, for a while.
	rested     int
	restWindow time.Duration
	// many are the pods of the object whose follower's memory is looked at.
	many int
	// commands is how often each command line is run.
	commands int
	// changes is how often one object is scaled to find the cost of a reconcile.
	changes int
	// benchtime is that of "go test -bench".
	benchtime string
	loop      loopAgenda
}

// loopAgenda says how large the clusters are that the loop is tried in.
type loopAgenda struct {
	// wide is a cluster of so many objects of one pod, of so many declared kinds, in so
	// many namespaces.
	wideObjects, wideKinds, wideNamespaces int
	// A loop with so many objects of so many pods is killed and frozen so many times,
	// beside a standby.
	heldObjects, heldPods int
	killed, frozen        int
	// backlog has so many objects when a loop starts, of which so many change then.
	backlog, backlogChanges int
	// bigPods are those of one object, beside so many objects that change by one.
	bigPods, others int
	// besideObjects are scaled in so many rounds by the loop and by another controller.
	besideObjects, besideRounds int
	// flapping is how long the count of an object flaps.
	flapping time.Duration
	// rolled are the pods that are replaced, in so many rounds.
	rolled, rolledRounds int
	// nodes are those that an object has a pod on, in so many rounds; then nodes come and
	// go for a while.
	nodes, nodeRounds int
	churn             time.Duration
}

// size is a number of pods to scale to, from nothing and back.
type size struct {
	pods int
	// rounds is how many runs each subject has, shipped how many of them the
	// ReplicaSet as shipped takes part in: it takes a second for 20 pods.
	rounds, shipped int
	// floor and ours only: for how the time grows.
	growth bool
}

// followedSize is a number of pods that come up, beside pods of others.
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

// measure does all that is on the agenda.
func (b *bench) measure(ctx context.Context, todo agenda) (*results, error) {
	r := &results{agenda: todo, began: time.Now()}
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
	r.took = time.Since(r.began)
	return r, nil
}

// measureFollowing does what is on the agenda about commands that follow objects.
func (b *bench) measureFollowing(ctx context.Context, todo agenda) (*results, error) {
	r := &results{agenda: todo, began: time.Now()}
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
		{"After the last pod is ready", func() (err error) { r.endings, err = b.compareEndings(ctx, todo.endings); return err }},
		{"At rest", func() (err error) { r.rested, err = b.measureRest(ctx, todo.rested, todo.restWindow); return err }},
		{"Many pods", func() (err error) { r.many, err = b.measureMany(ctx, todo.many); return err }},
	} {
		began := time.Now()
		if err := one.measure(); err != nil {
			return nil, fmt.Errorf("%s: %w", one.name, err)
		}
		say("%s took %.0f s", one.name, time.Since(began).Seconds())
	}
	r.took = time.Since(r.began)
	return r, nil
}

// measureLoop does what is on the agenda about what else a loop can be bad at. A part that
// fails is told in the report, and the others go on.
func (b *bench) measureLoop(ctx context.Context, todo agenda, only []string) (*results, error) {
	r := &results{agenda: todo, began: time.Now(), parts: map[string]part{}}
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
	r.took = time.Since(r.began)
	return r, nil
}
