package problem

// Code is a reason as a word for scripts; the sentence beside it is for people.
// The words are listed in docs/status-json.md and do not change their meaning.
type Code string

// The codes of what a verdict rests on where nothing is wrong in particular.
const (
	// CodeReady: as many pods are ready as are wanted.
	CodeReady Code = "Ready"
	// CodeParked: it is scaled to zero for a time.
	CodeParked Code = "Parked"
	// CodeDeleted: there is no such object any more.
	CodeDeleted Code = "Deleted"
	// CodeDeleting: the object is being deleted.
	CodeDeleting Code = "Deleting"
	// CodeNeverSeen: no controller has written what it saw of the object.
	CodeNeverSeen Code = "NeverSeen"
	// CodeGenerationNotSeen: the controller has not seen the last change.
	CodeGenerationNotSeen Code = "GenerationNotSeen"
	// CodeNoController: the controller that should do the rest is not running.
	CodeNoController Code = "NoController"
	// CodeNoPods: the object has no pods, and nothing says how many it should have.
	CodeNoPods Code = "NoPods"
	// CodePodsMissing: pods are still to be made.
	CodePodsMissing Code = "PodsMissing"
	// CodePodsSurplus: pods are still to be removed.
	CodePodsSurplus Code = "PodsSurplus"
	// CodePodsOutdated: pods of an older template are still to be replaced.
	CodePodsOutdated Code = "PodsOutdated"
	// CodePodsStarting: the pods are there and not all of them are ready.
	CodePodsStarting Code = "PodsStarting"
	// CodeStatusBehind: the status does not say what there is.
	CodeStatusBehind Code = "StatusBehind"
	// CodeConditionFalse: the counts are right, and a condition of the object says
	// that it is not ready.
	CodeConditionFalse Code = "ConditionFalse"
	// CodeChildNotReady: the counts of the object are right, and something that it
	// owns is not ready.
	CodeChildNotReady Code = "ChildNotReady"
	// CodeChangeNotSeen: nothing shows whether the controller has seen the last
	// change, or has done anything about it.
	CodeChangeNotSeen Code = "ChangeNotSeen"
	// CodeCannotTell: nothing counts what is ready.
	CodeCannotTell Code = "CannotTell"
	// CodePaused: somebody has paused it.
	CodePaused Code = "Paused"
	// CodePausedByUser: somebody has paused it by the annotations of this program,
	// which say until when.
	CodePausedByUser Code = "PausedByUser"
	// CodeWaitingForPromotion: a new version waits for somebody to promote it.
	CodeWaitingForPromotion Code = "WaitingForPromotion"
	// CodePartitioned: its strategy keeps some pods of the older template.
	CodePartitioned Code = "Partitioned"
	// CodeOnDelete: its strategy replaces only pods that somebody deletes.
	CodeOnDelete Code = "OnDelete"
)

// The codes of problems.
const (
	// CodeImagePullFailed: an image cannot be pulled.
	CodeImagePullFailed Code = "ImagePullFailed"
	// CodeInvalidImageName: what is given as an image is no name of one.
	CodeInvalidImageName Code = "InvalidImageName"
	// CodeCrashLoop: a container ends again and again.
	CodeCrashLoop Code = "CrashLoop"
	// CodeOutOfMemory: a container is ended again and again for using too much memory.
	CodeOutOfMemory Code = "OutOfMemory"
	// CodeConfigError: what a container is configured with is missing or wrong.
	CodeConfigError Code = "ConfigError"
	// CodeStartFailed: a container cannot be created or started.
	CodeStartFailed Code = "StartFailed"
	// CodeVolumeNotMounted: a volume cannot be attached or mounted.
	CodeVolumeNotMounted Code = "VolumeNotMounted"
	// CodeSandboxFailed: the pod's network or sandbox cannot be set up.
	CodeSandboxFailed Code = "SandboxFailed"
	// CodeProbeFailed: a probe of a running container fails.
	CodeProbeFailed Code = "ProbeFailed"
	// CodeUnschedulable: no node fits.
	CodeUnschedulable Code = "Unschedulable"
	// CodeSchedulingGated: the pod is not to be scheduled yet.
	CodeSchedulingGated Code = "SchedulingGated"
	// CodeNodeLost: the pod's node is gone or does not answer.
	CodeNodeLost Code = "NodeLost"
	// CodeTerminating: the pod is still there after its grace period.
	CodeTerminating Code = "Terminating"
	// CodeFinalizer: the deletion is held up by a finalizer.
	CodeFinalizer Code = "Finalizer"
	// CodePodEnded: the pod has ended.
	CodePodEnded Code = "PodEnded"
	// CodeInitNotDone: an init container is still at work.
	CodeInitNotDone Code = "InitNotDone"
	// CodeContainersNotReady: some containers of the pod are not ready.
	CodeContainersNotReady Code = "ContainersNotReady"
	// CodeReadinessGate: a readiness gate of the pod is not open.
	CodeReadinessGate Code = "ReadinessGate"
	// CodeQuotaExceeded: a quota allows no more pods.
	CodeQuotaExceeded Code = "QuotaExceeded"
	// CodeAdmissionRefused: admission refuses the pods.
	CodeAdmissionRefused Code = "AdmissionRefused"
	// CodeNameTaken: a name that is needed is held by another object.
	CodeNameTaken Code = "NameTaken"
	// CodeCreateFailed: pods cannot be created, for another reason.
	CodeCreateFailed Code = "CreateFailed"
	// CodeDeadlineExceeded: the object's own deadline for progress has passed.
	CodeDeadlineExceeded Code = "DeadlineExceeded"
	// CodeInvalidPause: the annotation that says until when the object is paused
	// cannot be read, so it is not paused.
	CodeInvalidPause Code = "InvalidPause"
	// CodeReportedFailure: a condition of the object reports a failure.
	CodeReportedFailure Code = "ReportedFailure"
)
