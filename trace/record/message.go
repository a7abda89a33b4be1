package record

import (
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// vocabulary is the words that API servers say of themselves. Whatever else stands
// in a message may be somebody's name.
var vocabulary = words(`
a able about access after again all allowed an and any api apiserver apiservers are as asked at authorization authorize
back be because been before being behind between but by cache cannot capacity change changed client closed cluster
compacted compaction compute connect connecting connection connections consistent context continue continuing could
current currently data deadline decode delete deleted denied did display do does due during either encountered error
errors etcd etcdserver event events exceeded exist expired failed find for forbidden found from full future get gone
group handle handler has have header however http https if in inconsistent initialized initializing input internal
into invalid is it its key kind kube kubernetes large larger later latest leader limit list longer lookup lost mvcc
must namespace namespaces new newer no not object objects occurred of old older on only or order other page parameter
path period please process processing provided query quota rate re read reached reading ready refused remainder request
requested requests required reset resource resources resourceversion response result results resulting retrieve retry revision scope
secs seconds see selector send sent server service shut shutdown shutting slow some start started still stop stopped storage
stream string supported temporarily than that the there this time timed timeout to token too took transport trying unable
unauthorized unavailable unexpected unknown until unsupported update use used user users using value verb version was
watch watched watching we were when which while will with within without without wrong you your lt eof tcp dial tls
handshake timestamp strconv parseuint parsing syntax snapshot serve served max received rev body begins
empty status bad gateway many html text plain
`)

func words(text string) map[string]bool {
	m := map[string]bool{}
	for _, word := range strings.Fields(text) {
		m[word] = true
	}
	return m
}

// messageWord is a word, a name, a number or an address.
var messageWord = regexp.MustCompile(`[\pL\pN_.@%~+-]*[\pL\pN]`)

var digits = regexp.MustCompile(`^[0-9]+$`)

// message replaces what in a Status is not a server's own language. Numbers stay:
// they are versions.
func (s *scrubber) message(text string) string {
	return messageWord.ReplaceAllStringFunc(text, func(word string) string {
		if digits.MatchString(word) || vocabulary[strings.ToLower(word)] || word == s.resource {
			return word
		}
		return s.word(word)
	})
}

// reasons are those that a Status can have. A client acts on them.
var reasons = []metav1.StatusReason{
	metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden, metav1.StatusReasonNotFound, metav1.StatusReasonAlreadyExists,
	metav1.StatusReasonConflict, metav1.StatusReasonGone, metav1.StatusReasonInvalid, metav1.StatusReasonServerTimeout,
	metav1.StatusReasonStoreReadError, metav1.StatusReasonTimeout, metav1.StatusReasonTooManyRequests, metav1.StatusReasonBadRequest,
	metav1.StatusReasonMethodNotAllowed, metav1.StatusReasonNotAcceptable, metav1.StatusReasonRequestEntityTooLarge,
	metav1.StatusReasonUnsupportedMediaType, metav1.StatusReasonInternalError, metav1.StatusReasonExpired,
	metav1.StatusReasonServiceUnavailable,
	metav1.StatusReason(metav1.CauseTypeResourceVersionTooLarge),
}

// reason also keeps the types of causes, which stand under the same name.
func (s *scrubber) reason(reason string) string {
	if slices.Contains(reasons, metav1.StatusReason(reason)) {
		return reason
	}
	return s.pseudonym("value", reason)
}
