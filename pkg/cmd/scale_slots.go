package cmd

import "slices"

// validateSlots refuses what cannot be meant by --remove and --reuse.
func (o *scaleOptions) validateSlots() error {
	if len(o.change.Remove) == 0 {
		if o.change.Reuse && (o.group != "" || o.path != nil) {
			return usageErrorf("--reuse cannot be used together with --group or --replicas-path")
		}
		return nil
	}
	for _, flag := range []string{"replicas", "by", "reuse", "group", "replicas-path"} {
		if o.after.given(flag) {
			return usageErrorf("--remove and --%s cannot be used together", flag)
		}
	}
	for i, pod := range o.change.Remove {
		if problem := nameProblem(pod); problem != "" {
			return usageErrorf("invalid pod name %q: %s", pod, problem)
		}
		if slices.Contains(o.change.Remove[:i], pod) {
			return usageErrorf("--remove names pod %s twice", pod)
		}
	}
	return nil
}
