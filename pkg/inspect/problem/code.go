package problem

// Code is a reason for scripts; the message next to it is for people. The codes and their
// meanings, listed in docs/status-json.md, are stable.
type Code string

// The codes of verdicts without a problem.
const (
	CodeReady               Code = "Ready"               // as many pods are ready as are wanted
	CodeParked              Code = "Parked"              // the object is scaled to zero for a time
	CodeDeleted             Code = "Deleted"             // the object no longer exists
	CodeDeleting            Code = "Deleting"            // the object is being deleted
	CodeNeverSeen           Code = "NeverSeen"           // no controller has seen the object
	CodeGenerationNotSeen   Code = "GenerationNotSeen"   // the controller has not seen the last change
	CodeNoController        Code = "NoController"        // the controller that should act is not running
	CodeNothingReported     Code = "NothingReported"     // the status does not say how the object is doing
	CodeNoPods              Code = "NoPods"              // there are no pods, and the desired count is unknown
	CodeCountOutOfBounds    Code = "CountOutOfBounds"    // the count is outside of the minimum and maximum beside it
	CodePodsMissing         Code = "PodsMissing"         // pods are still to be created
	CodePodsSurplus         Code = "PodsSurplus"         // pods are still to be removed
	CodePodsOutdated        Code = "PodsOutdated"        // pods of an older template are still to be replaced
	CodePodsStarting        Code = "PodsStarting"        // not all pods are ready
	CodeStatusBehind        Code = "StatusBehind"        // the status does not match the pods
	CodeConditionFalse      Code = "ConditionFalse"      // the counts are right, but a condition reports that the object is not ready
	CodeChildNotReady       Code = "ChildNotReady"       // the counts are right, but a child of the object is not ready
	CodeChangeNotSeen       Code = "ChangeNotSeen"       // nothing shows that the controller acted on the last change
	CodeCannotTell          Code = "CannotTell"          // nothing shows how many pods are ready
	CodePaused              Code = "Paused"              // someone has paused the object
	CodePausedByUser        Code = "PausedByUser"        // the annotations of this program pause the object
	CodeWaitingForPromotion Code = "WaitingForPromotion" // a new version waits for someone to promote it
	CodePartitioned         Code = "Partitioned"         // its strategy keeps pods of the older template
	CodeOnDelete            Code = "OnDelete"            // its strategy replaces only pods that someone deletes
)

// The codes of problems.
const (
	CodeImagePullFailed    Code = "ImagePullFailed"    // an image cannot be pulled
	CodeInvalidImageName   Code = "InvalidImageName"   // the name of an image is invalid
	CodeCrashLoop          Code = "CrashLoop"          // a container ends again and again
	CodeOutOfMemory        Code = "OutOfMemory"        // a container runs out of memory again and again
	CodeConfigError        Code = "ConfigError"        // the configuration of a container is missing or wrong
	CodeStartFailed        Code = "StartFailed"        // a container cannot be created or started
	CodeVolumeNotMounted   Code = "VolumeNotMounted"   // a volume cannot be attached or mounted
	CodeSandboxFailed      Code = "SandboxFailed"      // the pod's network or sandbox cannot be set up
	CodeProbeFailed        Code = "ProbeFailed"        // a probe of a running container fails
	CodeUnschedulable      Code = "Unschedulable"      // no node fits
	CodeSchedulingGated    Code = "SchedulingGated"    // the pod has a scheduling gate
	CodeNodeLost           Code = "NodeLost"           // the pod's node is gone or does not respond
	CodeTerminating        Code = "Terminating"        // the pod still exists after its grace period
	CodeFinalizer          Code = "Finalizer"          // a finalizer blocks the deletion
	CodePodEnded           Code = "PodEnded"           // the pod has ended
	CodeInitNotDone        Code = "InitNotDone"        // an init container is running
	CodeContainersNotReady Code = "ContainersNotReady" // some containers are not ready
	CodeReadinessGate      Code = "ReadinessGate"      // a readiness gate is not open
	CodeQuotaExceeded      Code = "QuotaExceeded"      // a quota allows no more pods
	CodeAdmissionRefused   Code = "AdmissionRefused"   // admission rejects the pods
	CodeNameTaken          Code = "NameTaken"          // another object has the name
	CodeCreateFailed       Code = "CreateFailed"       // pods cannot be created for another reason
	CodeDeadlineExceeded   Code = "DeadlineExceeded"   // the object's own deadline for progress has passed
	CodeInvalidPause       Code = "InvalidPause"       // the annotation of a pause is invalid
	CodeReportedFailure    Code = "ReportedFailure"    // a condition of the object reports a failure
)
