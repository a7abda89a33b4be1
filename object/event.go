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

// String returns the word that the API uses, such as ADDED.
func (t EventType) String() string {
	switch t {
	case Added:
		return "ADDED"
	case Modified:
		return "MODIFIED"
	case Deleted:
		return "DELETED"
	case Bookmark:
		return "BOOKMARK"
	}
	return "UNKNOWN"
}
