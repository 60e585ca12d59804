package atrium

import (
	"context"
	"errors"
	"iter"

	optionsv1 "atrium.example/atrium/gen/go/atrium/options/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxOffset is where lists end that are read by offset.
const maxOffset = 10_000

// ErrTooManyItems ends a list that has no cursor after 10,000 items: narrow the request by a filter.
var ErrTooManyItems = errors.New("atrium: the list has more than 10,000 items, and no cursor")

// Page is a page as lists return it.
type Page[Item any] interface {
	proto.Message
	GetData() []Item
}

// Pages are the items of a list, page by page as they are read.
type Pages[Item any] struct {
	read   func(request proto.Message) (Page[Item], error)
	first  proto.Message
	cursor string
}

// Paginate reads a list to its end: by cursor where the list has one, else by offset. All other parameters of the
// request are kept; pages are as large as the list allows, unless the request says otherwise.
func Paginate[Request proto.Message, Response Page[Item], Item any](
	ctx context.Context,
	call func(context.Context, Request) (Response, error),
	request Request,
) *Pages[Item] {
	read := func(message proto.Message) (Page[Item], error) {
		response, err := call(ctx, message.(Request))
		if err != nil {
			return nil, err
		}
		return response, nil
	}
	return &Pages[Item]{read: read, first: request}
}

// Cursor is where to go on later: pass it as the cursor of a request. A loop that is left within a page begins that
// page again. It is empty before and within the first page, at the end, and for lists without cursors.
func (p *Pages[Item]) Cursor() string { return p.cursor }

// All yields every item; an error ends it.
func (p *Pages[Item]) All() iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		var none Item
		request := proto.Clone(p.first)
		message := request.ProtoReflect()
		fields := message.Descriptor().Fields()
		limit, cursor, offset := fields.ByName("limit"), fields.ByName("cursor"), fields.ByName("offset")
		byCursor := prepare(message, limit, cursor, offset)
		for {
			page, err := p.read(request)
			if err != nil {
				yield(none, err)
				return
			}
			items, next := page.GetData(), text(page, "next_cursor")
			p.cursor = next
			for nth, item := range items {
				if byCursor && nth < len(items)-1 {
					p.cursor = text(request, "cursor")
				} else {
					p.cursor = next
				}
				if !yield(item, nil) {
					return
				}
			}
			switch {
			case byCursor && next == "", !byCursor && (offset == nil || isLast(page, request, limit, len(items))):
				return
			case byCursor:
				message.Set(cursor, protoreflect.ValueOfString(next))
			default:
				from := message.Get(offset).Uint() + uint64(len(items))
				if from > maxOffset {
					yield(none, ErrTooManyItems)
					return
				}
				message.Set(offset, protoreflect.ValueOfUint32(uint32(from)))
			}
		}
	}
}

// prepare asks for the largest page, and for cursors, unless the request begins at an offset. It tells whether the list
// is read by cursor.
func prepare(message protoreflect.Message, limit, cursor, offset protoreflect.FieldDescriptor) bool {
	if limit != nil && message.Get(limit).Uint() == 0 {
		rules, _ := proto.GetExtension(limit.Options(), optionsv1.E_Rules).(*optionsv1.Rules)
		if most := uint32(rules.GetMax()); most > 0 {
			message.Set(limit, protoreflect.ValueOfUint32(most))
		}
	}
	if cursor == nil {
		return false
	}
	if offset != nil && message.Get(offset).Uint() > 0 && message.Get(cursor).String() == "" {
		message.Clear(cursor)
		return false
	}
	if !message.Has(cursor) {
		message.Set(cursor, protoreflect.ValueOfString(""))
	}
	return true
}

func isLast(page, request proto.Message, limit protoreflect.FieldDescriptor, count int) bool {
	size := uint64(0)
	if field := page.ProtoReflect().Descriptor().Fields().ByName("limit"); field != nil {
		size = page.ProtoReflect().Get(field).Uint()
	}
	if size == 0 && limit != nil {
		size = request.ProtoReflect().Get(limit).Uint()
	}
	return count == 0 || uint64(count) < size
}

func text(message proto.Message, name protoreflect.Name) string {
	field := message.ProtoReflect().Descriptor().Fields().ByName(name)
	if field == nil {
		return ""
	}
	return message.ProtoReflect().Get(field).String()
}
