package problem

// Code is a machine-readable reason. Codes are stable, and docs/status-json.md lists them.
type Code string

// The codes of verdicts without a problem.
const (
	CodeReady               Code = "Ready"               // the object is ready or complete
	CodeParked              Code = "Parked"              // the object is scaled to zero until it is unparked
	CodeDeleted             Code = "Deleted"             // the object no longer exists
	CodeDeleting            Code = "Deleting"            // the object is being deleted
	CodeNeverSeen           Code = "NeverSeen"           // no controller has seen the object
	CodeGenerationNotSeen   Code = "GenerationNotSeen"   // the controller has not seen the last change
	CodeNoController        Code = "NoController"        // no running controller reconciles the object
	CodeNothingReported     Code = "NothingReported"     // the status does not report the state of the object
	CodeNoPods              Code = "NoPods"              // no pods are active, and the desired count is unknown
	CodeCountOutOfBounds    Code = "CountOutOfBounds"    // the count violates the minimum or maximum in the spec
	CodePodsMissing         Code = "PodsMissing"         // some pods have not been created
	CodePodsSurplus         Code = "PodsSurplus"         // some pods have not been removed
	CodePodsOutdated        Code = "PodsOutdated"        // some pods have an older template
	CodePodsStarting        Code = "PodsStarting"        // not all pods are ready
	CodeStatusBehind        Code = "StatusBehind"        // the status does not match the pods
	CodeConditionFalse      Code = "ConditionFalse"      // a condition or another field reports that the object is not ready
	CodeChildNotReady       Code = "ChildNotReady"       // the counts are right, but a child of the object is not ready
	CodeChangeNotSeen       Code = "ChangeNotSeen"       // nothing shows that the controller acted on the last change
	CodeCannotTell          Code = "CannotTell"          // nothing shows how many pods exist or are ready
	CodePaused              Code = "Paused"              // someone has paused the object
	CodePausedByUser        Code = "PausedByUser"        // the annotations of this program pause the object
	CodeWaitingForPromotion Code = "WaitingForPromotion" // a new version waits for someone to promote it
	CodePartitioned         Code = "Partitioned"         // the strategy keeps pods of the older template
	CodeOnDelete            Code = "OnDelete"            // the strategy replaces pods only after they are deleted
)

// The codes of problems.
const (
	CodeImagePullFailed    Code = "ImagePullFailed"    // an image cannot be pulled
	CodeInvalidImageName   Code = "InvalidImageName"   // the name of an image is invalid
	CodeCrashLoop          Code = "CrashLoop"          // a container crashes
	CodeOutOfMemory        Code = "OutOfMemory"        // a container crashes because it runs out of memory
	CodeConfigError        Code = "ConfigError"        // the configuration of a container is missing or invalid
	CodeStartFailed        Code = "StartFailed"        // a container cannot be created or started
	CodeVolumeNotMounted   Code = "VolumeNotMounted"   // a volume cannot be attached or mounted
	CodeSandboxFailed      Code = "SandboxFailed"      // the pod's network or sandbox cannot be set up
	CodeProbeFailed        Code = "ProbeFailed"        // a probe of a running container fails
	CodeUnschedulable      Code = "Unschedulable"      // no node fits the pod, or the scheduler failed
	CodeSchedulingGated    Code = "SchedulingGated"    // the pod has a scheduling gate
	CodeNodeLost           Code = "NodeLost"           // the pod's node is gone or does not respond
	CodeTerminating        Code = "Terminating"        // the pod still exists after its grace period
	CodeFinalizer          Code = "Finalizer"          // a finalizer blocks the deletion
	CodePodEnded           Code = "PodEnded"           // the pod has ended
	CodeInitNotDone        Code = "InitNotDone"        // an init container is running
	CodeContainersNotReady Code = "ContainersNotReady" // some containers are not ready
	CodeReadinessGate      Code = "ReadinessGate"      // a readiness gate is not met
	CodeQuotaExceeded      Code = "QuotaExceeded"      // a quota rejects the pods
	CodeAdmissionRefused   Code = "AdmissionRefused"   // admission rejects the pods
	CodeNameTaken          Code = "NameTaken"          // another object already has the name
	CodeCreateFailed       Code = "CreateFailed"       // pods cannot be created for another reason
	CodeDeadlineExceeded   Code = "DeadlineExceeded"   // the progress deadline of the object has passed
	CodeInvalidPause       Code = "InvalidPause"       // the pause annotation is invalid
	CodeReportedFailure    Code = "ReportedFailure"    // the status reports a failure
)
