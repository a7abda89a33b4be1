package object

// EventType is the type of a watch event. There is none for ERROR, which is an error.
type EventType uint8

// The types of a watch event, as the API documentation names them:
// https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
const (
	Added EventType = iota + 1
	Modified
	Deleted
	Bookmark
)

var eventWords = [...]string{Added: "ADDED", Modified: "MODIFIED", Deleted: "DELETED", Bookmark: "BOOKMARK"}

// String returns the word that the API uses, such as ADDED.
func (t EventType) String() string {
	if t == 0 || int(t) >= len(eventWords) {
		return "UNKNOWN"
	}
	return eventWords[t]
}
