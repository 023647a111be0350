"""The words of the built-in English grammar: what each looks like, and what it can sensibly be said of.

Everything above "Reading the tables" is data, in tables that a person can read and extend:

- a noun belongs to one kind (`child`, `food`, `opening` ...); its plural is regular unless given after a slash;
- a verb is listed once with its five forms, and then in one or more frames: who does it, what it is done to,
  and tags that say which adjuncts go with it;
- adjectives, prepositional modifiers and time adverbials say which nouns or tenses they fit.

Wherever a kind is expected, a group of kinds or a single noun serves too.
"""

from collections import defaultdict
from dataclasses import dataclass

# --- Nouns -----------------------------------------------------------------------------------------------

NOUNS = {
    "child": "girl boy child/children",
    "adult": "woman/women man/men stranger visitor guest tourist",
    "worker": """teacher doctor farmer sailor nurse baker painter singer dancer student soldier lawyer driver writer
        poet cook gardener hunter tailor judge captain pilot guard artist actor merchant musician shepherd clerk
        librarian engineer carpenter waiter scientist mechanic plumber dentist reporter""",
    "kin": "sister brother cousin aunt uncle friend neighbor son daughter nephew niece",
    "beast": """dog puppy cat kitten horse pony donkey cow goat pig fox wolf/wolves bear lion tiger monkey mouse/mice
        rabbit squirrel""",
    "fowl": "bird owl crow duck goose/geese hen swan parrot eagle",
    "food": """apple orange cake pie sandwich carrot potato/potatoes tomato/tomatoes egg onion pear peach cookie
        banana melon sausage pancake mushroom""",
    "dish": "soup bread rice cheese salad",
    "drink": "tea coffee milk water juice lemonade",
    "text": "book letter newspaper magazine novel note report diary postcard article",
    "tale": "story joke tale riddle poem",
    "music": "song tune melody waltz lullaby",
    "portable": "box bag basket jar bucket suitcase bottle crate",
    "storage": "drawer cupboard cabinet closet chest",
    "dishware": "cup plate bowl spoon fork knife/knives pan pot glass",
    "small": "key pen pencil ring coin brush candle camera ball toy hammer mirror lamp whistle",
    "large": "ladder rope broom shovel umbrella clock kite radio lantern painting carpet",
    "furniture": "chair table bed desk bench sofa shelf/shelves stool",
    "opening": "door window gate",
    "clothing": "coat hat scarf/scarves shirt dress sweater jacket glove sock shoe boot skirt apron",
    "instrument": "piano violin guitar flute drum trumpet harp cello",
    "vehicle": "car truck boat bicycle wagon bus van tractor train",
    "plant": "tree flower rose bush tulip fern",
    "idea": "plan idea question answer problem rule mistake lesson",
}

# Places, under the preposition with which English locates something there.
SITES = {
    "in": "kitchen garden attic cellar bedroom office garage barn village city town valley forest park courtyard",
    "at": "station market harbor library museum hotel school hospital bakery theater airport",
    "on": "beach hill island bridge farm",
    "near": "river lake castle tower church cottage fountain mill",
}

NAMES = "Anna Tom Maria Peter Lucy Henry Clara Oliver Ruth Samuel Emma David Julia Martin Sarah George"

GROUPS = {
    "human": "child adult worker kin",
    "animal": "beast fowl",
    "object": "small dishware text portable clothing",  # what one person can carry and hand over
    "goods": "small large dishware text portable clothing instrument",
    "fruit": "apple orange pear peach banana melon",
    "fliers": "bird owl crow duck goose swan parrot eagle",
    "wild": "fox wolf bear lion tiger monkey mouse squirrel bird owl crow swan eagle",
    "dogs": "dog puppy wolf",
    "cats": "cat kitten",
    "horses": "horse pony donkey",
    "box_like": "box bag basket suitcase crate drawer cupboard cabinet chest",
    "basket_like": "box bag basket crate",
    "surface": "table desk shelf bench chair",
    "reachable": "room building landmark station market park harbor school",
    "building": "barn library museum hotel school hospital bakery theater castle tower church cottage mill",
    "room": "kitchen attic cellar bedroom office garage",
    "outdoors": "garden park courtyard valley village forest beach hill farm river lake",
    "settlement": "village city town valley island harbor",
    "landmark": "river lake bridge church station fountain mill castle",
}

# --- Determiners: with a singular, a plural and a mass noun ----------------------------------------------

DETERMINERS = {
    "the": "the the the",
    "a": "a some some",  # `a` becomes `an`, and `some` becomes `any`, in realisation
    "this": "this these this",
    "that": "that those that",
    "two": "one two -",
    "three": "one three -",
    "my": "my my my",
    "your": "your your your",
    "his": "his his his",
    "her": "her her her",
    "our": "our our our",
    "their": "their their their",
}

# How often each is drawn before a noun of this group; the rest take the last line.
DETERMINER_CHOICE = {
    "kin": "my your his her our their",
    "child adult worker": "the the the the the the a a this that two three",
    "wild": "the the the the the the a a a this that two three",
    "bus train": "the the the the a a this that two",
    "site": "the the the the the the the this that our",
    "idea tale": "the the the the a this that my your his her our their",
    "": "the the the the the the a a a this that my your his her our their two three",
}

# --- Adjectives: before the noun --------------------------------------------------------------------------

ADJECTIVES = {
    "child": "small little clever quiet polite cheerful hungry tired brave shy lonely noisy curious",
    "adult": "young old tall kind quiet polite friendly tired hungry elegant nervous cheerful lonely",
    "worker": "young old tall clever kind brave honest famous tired friendly proud patient careful busy",
    "kin": "young old clever kind brave funny shy gentle cheerful",
    "animal": "small big old young black white brown hungry lazy noisy thirsty",
    "wild": "small big old young hungry noisy thirsty wild",
    "food": "fresh small big delicious",
    "fruit": "fresh small big ripe sweet",
    "dish": "fresh delicious simple warm",
    "drink": "cold fresh",
    "tea coffee": "hot cold strong sweet",
    "milk water": "cold warm fresh",
    "text": "long short old new boring strange interesting",
    "tale": "long short old funny sad strange familiar",
    "music": "old new sad slow beautiful strange familiar cheerful",
    "portable": "empty heavy old small big wooden red blue green yellow",
    "storage": "empty old big wooden dusty narrow",
    "dishware": "old new clean dirty small big expensive blue white",
    "small": "old new tiny shiny expensive black red strange",
    "large": "old new heavy red expensive dusty",
    "furniture": "old new wooden heavy comfortable low broken",
    "opening": "old heavy narrow wooden green big white",
    "clothing": "old new warm red blue green black white dirty clean wet elegant",
    "instrument": "old new expensive beautiful",
    "vehicle": "old new slow fast red blue yellow dirty expensive",
    "plant": "old small beautiful tall wild dry",
    "idea": "strange new important simple difficult clever",
    "mistake": "strange terrible simple small",
    "site": "old quiet small big beautiful famous empty",
    "room": "old quiet small big dark cold empty",
}

# --- Prepositional modifiers: head | preposition | its noun -----------------------------------------------

MODIFIERS = """
    child adult worker                | from  | settlement
    beast                             | from  | village valley forest farm
    child adult worker                | with  | hat scarf coat instrument portable umbrella camera lantern
    child adult worker                | near  | opening tree bush landmark
    animal                            | near  | tree bush landmark
    child adult worker animal         | in    | garden courtyard park
    child adult                       | behind| opening tree bench
    key                               | to    | opening storage suitcase garage cottage
    text                              | about | animal landmark plant
    tale music                        | about | animal settlement
    small dishware text               | on    | surface
    small dishware text clothing      | in    | box_like
    portable large furniture          | near  | opening furniture
    food dish drink                   | from  | market farm
    bread cake pie cookie             | from  | bakery
    idea                              | in    | book letter report article
    storage furniture door window     | in    | room
    vehicle                           | near  | building bridge gate
    plant                             | near  | opening river lake bench fountain
    site                              | near  | landmark
"""

# --- Verbs: base, third person, past, participle, -ing ----------------------------------------------------

VERBS = """
    be is was been being, have has had had having, do does did done doing,
    laugh laughs laughed laughed laughing, smile smiles smiled smiled smiling, cry cries cried cried crying,
    sleep sleeps slept slept sleeping, wait waits waited waited waiting, work works worked worked working,
    rest rests rested rested resting, sing sings sang sung singing, dance dances danced danced dancing,
    talk talks talked talked talking, whisper whispers whispered whispered whispering,
    shout shouts shouted shouted shouting, swim swims swam swum swimming, run runs ran run running,
    jump jumps jumped jumped jumping, sneeze sneezes sneezed sneezed sneezing, cough coughs coughed coughed coughing,
    yawn yawns yawned yawned yawning, listen listens listened listened listening, pray prays prayed prayed praying,
    kneel kneels knelt knelt kneeling, hesitate hesitates hesitated hesitated hesitating,
    argue argues argued argued arguing, sit sits sat sat sitting, stand stands stood stood standing,
    tremble trembles trembled trembled trembling, arrive arrives arrived arrived arriving,
    leave leaves left left leaving, return returns returned returned returning, hide hides hid hidden hiding,
    wake wakes woke woken waking, fall falls fell fallen falling, faint faints fainted fainted fainting,
    disappear disappears disappeared disappeared disappearing, play plays played played playing,
    bark barks barked barked barking, growl growls growled growled growling, purr purrs purred purred purring,
    howl howls howled howled howling, roar roars roared roared roaring, gallop gallops galloped galloped galloping,
    fly flies flew flown flying, grow grows grew grown growing, bloom blooms bloomed bloomed blooming,
    rain rains rained rained raining, snow snows snowed snowed snowing, stop stops stopped stopped stopping,
    eat eats ate eaten eating, taste tastes tasted tasted tasting, cook cooks cooked cooked cooking,
    bake bakes baked baked baking, peel peels peeled peeled peeling, drink drinks drank drunk drinking,
    pour pours poured poured pouring, spill spills spilled spilled spilling, serve serves served served serving,
    read reads read read reading, write writes wrote written writing, copy copies copied copied copying,
    translate translates translated translated translating, burn burns burned burned burning,
    print prints printed printed printing, finish finishes finished finished finishing,
    open opens opened opened opening, close closes closed closed closing, lock locks locked locked locking,
    unlock unlocks unlocked unlocked unlocking, paint paints painted painted painting,
    repair repairs repaired repaired repairing, clean cleans cleaned cleaned cleaning,
    break breaks broke broken breaking, carry carries carried carried carrying, find finds found found finding,
    lose loses lost lost losing, buy buys bought bought buying, sell sells sold sold selling,
    borrow borrows borrowed borrowed borrowing, steal steals stole stolen stealing, take takes took taken taking,
    drop drops dropped dropped dropping, hold holds held held holding, choose chooses chose chosen choosing,
    examine examines examined examined examining, want wants wanted wanted wanting,
    need needs needed needed needing, like likes liked liked liking, love loves loved loved loving,
    hate hates hated hated hating, own owns owned owned owning, wear wears wore worn wearing,
    wash washes washed washed washing, fold folds folded folded folding, sew sews sewed sewn sewing,
    hum hums hummed hummed humming, hear hears heard heard hearing, compose composes composed composed composing,
    plant plants planted planted planting, water waters watered watered watering, cut cuts cut cut cutting,
    feed feeds fed fed feeding, chase chases chased chased chasing, catch catches caught caught catching,
    ride rides rode ridden riding, train trains trained trained training, bite bites bit bitten biting,
    follow follows followed followed following, watch watches watched watched watching,
    help helps helped helped helping, visit visits visited visited visiting, thank thanks thanked thanked thanking,
    call calls called called calling, meet meets met met meeting, greet greets greeted greeted greeting,
    invite invites invited invited inviting, trust trusts trusted trusted trusting,
    blame blames blamed blamed blaming, admire admires admired admired admiring, know knows knew known knowing,
    remember remembers remembered remembered remembering, see sees saw seen seeing,
    warn warns warned warned warning, forgive forgives forgave forgiven forgiving,
    drive drives drove driven driving, park parks parked parked parking,
    explain explains explained explained explaining,
    discuss discusses discussed discussed discussing, understand understands understood understood understanding,
    forget forgets forgot forgotten forgetting, ignore ignores ignored ignored ignoring,
    enter enters entered entered entering, reach reaches reached reached reaching, build builds built built building,
    give gives gave given giving, send sends sent sent sending, show shows showed shown showing,
    offer offers offered offered offering, lend lends lent lent lending, bring brings brought brought bringing,
    tell tells told told telling, teach teaches taught taught teaching, put puts put put putting,
    place places placed placed placing, store stores stored stored storing, walk walks walked walked walking,
    go goes went gone going, travel travels traveled traveled traveling, hurry hurries hurried hurried hurrying,
    march marches marched marched marching, crawl crawls crawled crawled crawling, live lives lived lived living,
    say says said said saying, think thinks thought thought thinking, believe believes believed believed believing,
    notice notices noticed noticed noticing, announce announces announced announced announcing,
    claim claims claimed claimed claiming, suspect suspects suspected suspected suspecting,
    try tries tried tried trying, decide decides decided decided deciding, hope hopes hoped hoped hoping,
    plan plans planned planned planning, refuse refuses refused refused refusing, begin begins began begun beginning,
    promise promises promised promised promising, agree agrees agreed agreed agreeing,
    prefer prefers preferred preferred preferring, ask asks asked asked asking, order orders ordered ordered ordering,
    persuade persuades persuaded persuaded persuading, allow allows allowed allowed allowing,
    force forces forced forced forcing, encourage encourages encouraged encouraged encouraging
"""

# --- Frames: subject | verbs | object, or object > goal | tags --------------------------------------------
#   told     one can be asked or ordered to do it      daily    one does it again and again ("every morning")
#   state    it lasts: no progressive, no adverbials, no order       point    over at once: no progressive
#   place, outdoors    it happens somewhere ("in the garden")    calm, pace, glad, still, loud    manners that fit
#   active   has no passive                         event    something that other things wait for
#   bound    the object is in the hands of the doer: not "she wore the hat in the box"

FRAMES = {
    "intransitive": """
        human           | sing dance play                           | | told daily place glad
        human           | talk work read                            | | told daily place calm
        human           | wait sit stand kneel                      | | told daily place still
        human           | sleep rest                                | | told daily place
        human           | shout laugh cry argue                     | | daily place loud
        human           | pray listen                               | | told daily place still
        human           | whisper                                   | | told daily place
        human           | smile sneeze cough yawn tremble hesitate  | |
        human           | leave                                     | | told point event
        human           | arrive                                    | | point event
        human           | faint disappear                           | | point
        human           | hide                                      | | told place
        human beast     | jump run                                  | | told daily outdoors
        human duck swan | swim                                      | | told daily
        animal          | sleep rest                                | | daily place
        animal          | disappear                                 | | point
        dogs            | bark growl                                | | daily place loud
        cats            | purr                                      | | daily loud
        dog wolf        | howl                                      | | daily loud
        lion tiger bear | roar                                      | | daily loud
        horses          | gallop                                    | | outdoors
        bird            | sing                                      | | daily outdoors
        fliers          | fly                                       | | outdoors
        small dishware food | fall disappear                        | | point
        dishware        | break                                     | | point
        plant           | grow bloom                                | | outdoors
        bus train       | arrive leave                              | | point event
        bus train       | stop                                      | | point
    """,
    "weather": """
        weather         | rain snow                                 | | daily
    """,
    "transitive": """
        human  | eat taste                     | food dish             | told daily glad
        human  | serve                         | dish drink pie cake   | told daily
        human  | cook                          | soup rice egg sausage potato mushroom carrot | told daily calm
        human  | bake                          | cake pie cookie bread | told daily
        human  | peel cut                      | apple orange carrot potato onion pear banana melon | told calm
        human  | drink pour                    | drink                 | told daily calm
        human  | spill                         | drink soup            | point
        human  | read                          | text tale             | told daily calm place
        human  | write copy finish translate   | letter novel note report article story poem | told calm
        human  | burn print                    | letter note newspaper report postcard | told
        human  | open close lock unlock        | opening storage       | told calm
        human  | paint                         | opening furniture building storage room wagon boat | told calm
        human  | repair                        | vehicle furniture clock radio camera umbrella instrument | told calm
        human  | clean                         | room furniture dishware vehicle opening carpet | told daily calm
        human  | break                         | dishware mirror lamp clock camera window | point
        human  | carry hold                    | object instrument     | told calm bound
        human  | find lose                     | small clothing text umbrella radio dogs cats pony goat  | point
        human  | buy sell borrow               | goods furniture bicycle tractor wagon car | told
        human  | steal                         | goods bicycle car   |
        human  | take choose                   | object                | told
        human  | drop                          | small dishware text portable | point
        human  | examine                       | goods furniture vehicle plant | told calm
        human  | want need                     | goods furniture food dish drink | state active
        human  | like love hate                | clothing food dish drink music tale animal | state active
        human  | own                           | vehicle horses dogs cats cow goat building instrument | state active
        human  | wear                          | clothing ring         | told bound
        human  | wash                          | clothing dishware car truck bus van dogs window | told daily bound
        human  | fold                          | shirt dress sweater skirt scarf newspaper | told calm bound
        human  | sew                           | shirt dress skirt apron coat | calm
        human  | play                          | instrument            | told daily place glad
        human  | sing hum                      | music                 | told daily place glad
        human  | hear                          | music tale            | point
        human  | compose                       | music poem            |
        human  | plant water cut               | plant                 | told calm
        human  | feed                          | animal                | told daily
        human  | ride                          | horses bicycle        | told daily calm
        human  | train                         | dogs horses parrot monkey | told
        human  | chase                         | rabbit squirrel fox goose hen pig cat | told
        human  | catch                         | rabbit mouse hen ball goat | told point
        adult worker kin | drive               | car truck bus van tractor train | told daily calm
        adult worker kin | park                | car truck van bus     | told calm
        human  | explain discuss               | idea                  | told calm
        human  | understand know               | plan rule answer problem lesson tale | state
        human  | remember forget               | idea tale music       | point
        human  | ignore                        | rule question mistake human | told
        human  | enter                         | room building         | told point pace
        human  | reach                         | settlement building beach river bridge | point
        human  | visit                         | settlement museum castle human | told daily
        human  | build                         | barn cottage tower bridge wagon boat bench table | told
        human  | help thank call greet watch follow invite warn | human | told
        human  | meet                          | human                 | told point
        human  | trust admire love know        | human                 | state
        human  | blame                         | human                 | point
        human  | forgive                       | human                 | told point
        human  | see notice                    | human animal vehicle  | point
        beast  | chase follow watch            | animal                |
        cats   | chase catch watch             | mouse bird squirrel   |
        dogs   | bite chase follow             | human                 |
        beast  | eat steal                     | food bread cheese     |
        fox wolf bear | watch follow           | human cow goat hen    |
    """,
    "ditransitive": """
        human  | give send show offer          | human > object food instrument     | told
        human  | bring                         | human > object food dish drink     | told
        human  | lend sell                     | human > object instrument bicycle  | told
        human  | tell                          | human > tale                       | told daily
        human  | read                          | human > text tale                  | told daily
        human  | teach                         | human > music lesson rule          | told
        human  | write                         | human > letter note postcard       | told
        human  | serve                         | human > dish drink pie cake        | told
    """,
    "placement": """
        human  | put place leave               | small dishware text food > on surface                  | told calm
        human  | put place store hide          | small text clothing dishware > in box_like             | told calm
        human  | put place carry               | food > in basket_like                                  | told calm
        human  | put leave place               | portable large chair stool > near opening furniture    | told
        human  | carry bring take              | goods food furniture > to room barn cottage          | told calm
        human  | plant                         | plant > in garden courtyard park valley                | told
    """,
    "motion": """
        human          | walk run                      | > to reachable                      | told daily pace
        human          | hurry go                      | > to reachable                      | told daily
        human          | run walk return               | > to room building outdoors         | told daily
        beast          | run walk return               | > to barn farm garden park forest valley river lake | daily
        human          | travel return go              | > to settlement                     | told
        adult worker kin | drive ride                  | > to settlement landmark farm harbor station airport | told
        soldier sailor guard student child | march     | > to settlement station school park | told
        kitten puppy mouse | crawl                     | > to opening furniture              | pace
        fliers         | fly                           | > to river lake forest barn island  |
        horses         | gallop                        | > to river barn bridge forest farm  |
    """,
    "reported": """
        human | say explain announce claim | |
        human | notice hear                | | point
        human | think know believe suspect | | state
    """,
    "infinitive": """
        human | try begin plan                   | |
        human | promise decide refuse agree forget remember | | point
        human | want hope need prefer            | | state
    """,
    "control": """
        human | ask tell order persuade allow    | human |
        human | force encourage help teach       | human |
        human | want                             | human | state active
    """,
    "dwelling": """
        human animal | live                      | > near landmark forest farm | state
        human        | live                      | > in village city town valley cottage castle | state
        human        | work                      | > at market library museum hotel school hospital bakery | state
    """,
}

# --- Predicates after `be` ---------------------------------------------------------------------------------

QUALITIES = """
    human           | hungry tired happy sad angry busy ready late sick careful quiet nervous proud calm | passing
    human           | cheerful lonely curious afraid thirsty patient honest kind                         | passing
    animal          | hungry tired thirsty quiet calm sick                                               | passing
    food dish       | fresh delicious                                                                    | passing
    cake pie sandwich potato egg sausage pancake soup rice | cold warm hot ready                         | passing
    drink           | cold warm fresh                                                                    | passing
    tea coffee      | hot strong sweet                                                                   | passing
    portable storage| empty full heavy dirty dusty                                                       |
    opening         | open closed                                                                        | passing
    clothing        | wet dry dirty clean torn                                                           | passing
    small dishware large | dirty broken expensive clean                                                  |
    furniture       | dusty broken heavy comfortable                                                     |
    vehicle         | dirty slow broken expensive                                                        |
    text tale       | long short boring interesting sad funny                                            |
    plan idea question answer problem rule lesson | important simple difficult strange                   |
    music           | sad beautiful slow familiar                                                        |
    room building   | empty dark cold quiet dirty                                                        | passing
    plant           | dry tall beautiful                                                                 |
"""
DEGREES = ("very", "quite", "too")
ABSOLUTE = ("open", "closed", "broken", "torn", "delicious", "empty", "full", "ready")  # never "very closed"
COMMANDABLE = "careful quiet ready patient honest kind calm cheerful"  # "Be careful ."

ROLE_SUBJECTS = "adult kin"
ROLES = "worker"  # "She was a famous singer ."
ROLE_ADJECTIVES = ("good", "famous", "clever", "honest", "excellent", "patient", "terrible", "careful", "popular")

LOCATIONS = """
    small dishware text food | on   | surface
    small dishware text clothing | in | box_like
    food                     | in   | basket_like
    portable large furniture | near | opening furniture
    human dogs cats          | near | opening tree bush
    human animal             | near | tree bush landmark
    vehicle                  | near | building bridge gate
    human                    | at   | site
    animal                   | at   | garden park courtyard barn farm forest valley village hill
    portable                 | at   | room garden station
    drink                    | in   | cup bowl glass jar pot bottle
    soup rice salad          | in   | bowl pot
    bread cheese             | on   | table plate shelf
"""

# --- Adverbs and adverbials --------------------------------------------------------------------------------

MANNERS = {
    "calm": ("slowly", "carefully", "quietly", "quickly"),
    "pace": ("slowly", "quickly", "quietly"),
    "glad": ("happily", "quietly", "again"),
    "still": ("quietly", "patiently", "calmly", "silently"),
    "loud": ("loudly", "again"),
}

# Phrase, and the tense and aspect that it goes with.
TIMES = {
    "past simple, past progressive": "yesterday, last night, yesterday morning, last Monday",
    "past simple": "last week, an hour ago, two days ago, last month",
    "present simple": "every day, every morning, on Sundays, every week, every summer",
    "present progressive": "now, right now, at the moment",
    "future simple, modal": "tomorrow, next week, soon, tomorrow morning",
    "past simple, present simple, future simple, modal, command": """
        in the morning, in the evening, after lunch, before dinner, after breakfast""",
    "past simple, future simple, modal": "at noon",
    "past simple, present progressive, future simple, present perfect, modal, command": "today",
    "present perfect": "this week",
    "past perfect": "by then, before noon",
    "future simple, modal, command": "tonight",
    "command": "now, tomorrow",
}
MODALS = ("can", "could", "must", "should", "may", "might")

CONJUNCTIONS = """
    because although  | action   | state    | past present future
    when before after | action   | event    | past future
    if unless         | action   | event    | future
    while             | action   | activity | past
    until             | activity | event    | past future
"""  # what the main clause tells, what the subordinate clause tells, tenses of the main clause

# --- Reading the tables ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)  # entries are unique, so that identity is equality
class Noun:
    """A noun; `plural` is empty for mass nouns and names, `preposition` is set for places."""

    singular: str
    plural: str
    kind: str
    preposition: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """A verb and its five forms."""

    base: str
    third: str
    past: str
    participle: str
    ing: str


@dataclass(frozen=True, slots=True)
class Determiner:
    """What stands before a singular, a plural and a mass noun."""

    singular: str
    plural: str
    mass: str


@dataclass(frozen=True, slots=True)
class Time:
    """A time adverbial, and the "tense aspect" combinations (or "modal", "command") that it fits."""

    phrase: str
    fits: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Who does it (`subjects`), to what (`objects`, the last of them the theme), where to (`goals`)."""

    kind: str
    subjects: tuple[Noun, ...]
    objects: tuple[tuple[Noun, ...], ...] = ()
    preposition: str = ""
    goals: tuple[Noun, ...] = ()
    tags: frozenset[str] = frozenset()
    predicates: tuple[str | Noun, ...] = ()
    personal: bool = True  # a person can be the subject, so that `she` and `Anna` serve


@dataclass(frozen=True, slots=True)
class Conjunction:
    """What the main clause and the subordinate clause tell, and the tenses of the main clause."""

    main: str
    subordinate: str
    tenses: tuple[str, ...]


Entry = tuple[Verb, Frame]

PEOPLE = frozenset(GROUPS["human"].split())
MASS = frozenset({"dish", "drink"})


def _noun(entry: str, kind: str, preposition: str = "") -> Noun:
    singular, _, plural = entry.partition("/")
    if kind in MASS or kind == "name":
        return Noun(singular, "", kind)
    if not plural and singular.endswith("y") and singular[-2] not in "aeou":
        plural = singular[:-1] + "ies"
    elif not plural:
        plural = singular + ("es" if singular.endswith(("s", "x", "z", "ch", "sh")) else "s")
    return Noun(singular, plural, kind, preposition)


KINDS = {kind: tuple(_noun(word, kind) for word in words.split()) for kind, words in NOUNS.items()}
KINDS["site"] = tuple(_noun(word, "site", where) for where, words in SITES.items() for word in words.split())
NOUN = {noun.singular: noun for nouns in KINDS.values() for noun in nouns}
PROPER = tuple(_noun(word, "name") for word in NAMES.split())
VERB = {forms.split()[0]: Verb(*forms.split()) for forms in VERBS.split(",")}


def nouns(names: str) -> tuple[Noun, ...]:
    """The nouns that a list of groups, kinds and single nouns stands for."""
    found: list[Noun] = []
    for name in names.split():
        if name in GROUPS:
            found += nouns(GROUPS[name])
        elif name != "weather":
            found += KINDS[name] if name in KINDS else (NOUN[name],)
    return tuple(dict.fromkeys(found))


def _rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]


def _frame(
    kind: str,
    subject: str,
    objects: str = "",
    tags: str = "state being",
    predicates: tuple[str, ...] | tuple[Noun, ...] = (),
) -> Frame:
    theme, _, goal = (part.strip() for part in objects.partition(">"))
    slots = [theme, goal] if kind == "ditransitive" else [theme]
    preposition, _, goals = ("", "", "") if kind == "ditransitive" else goal.partition(" ")
    return Frame(
        kind,
        subjects=nouns(subject),
        objects=tuple(nouns(slot) for slot in slots if slot),
        preposition=preposition,
        goals=nouns(goals),
        tags=frozenset(tags.split()),
        predicates=predicates,
        personal=any(noun.kind in PEOPLE for noun in nouns(subject)),
    )


def _entries() -> dict[str, tuple[Entry, ...]]:
    """Every verb in every frame, by the kind of frame."""
    entries: dict[str, list[Entry]] = defaultdict(list)
    for kind, table in FRAMES.items():
        for subject, verbs, objects, tags in _rows(table):
            frame = _frame(kind, subject, objects, tags)
            entries[kind] += [(VERB[verb], frame) for verb in verbs.split()]
    be = VERB["be"]
    for subject, adjectives, tag in _rows(QUALITIES):
        frame = _frame("quality", subject, "", f"state being {tag}", predicates=tuple(adjectives.split()))
        entries["quality"] += [(be, frame)] * len(frame.predicates)
    entries["order"] = [(be, _frame("quality", "human", predicates=tuple(COMMANDABLE.split())))]
    entries["role"] = [(be, _frame("role", ROLE_SUBJECTS, predicates=nouns(ROLES)))]
    for things, preposition, places in _rows(LOCATIONS):
        goal = f"> {preposition} {places}"
        located = _frame("location", things, goal)
        existing = _frame("existential", "", things.replace("human", "child adult worker") + goal)
        entries["location"] += [(be, located)] * len(located.goals)  # in proportion to the places
        entries["existential"] += [(be, existing)] * len(located.goals)
    return {kind: tuple(rows) for kind, rows in entries.items()}


def _by_noun(table: dict[str, str]) -> dict[Noun, tuple[str, ...]]:
    return {noun: tuple(words.split()) for names, words in table.items() for noun in nouns(names)}


def _modifiers() -> dict[Noun, tuple[tuple[str, tuple[Noun, ...]], ...]]:
    options: dict[Noun, list[tuple[str, tuple[Noun, ...]]]] = defaultdict(list)
    for heads, preposition, places in _rows(MODIFIERS):
        for noun in nouns(heads):
            options[noun].append((preposition, nouns(places)))
    return {noun: tuple(rows) for noun, rows in options.items()}


def _determiners() -> dict[Noun, tuple[tuple[Determiner, ...], tuple[Determiner, ...]]]:
    """For each noun, those that can stand before its singular (or mass) form, and before its plural."""
    chosen = dict.fromkeys(NOUN.values(), DETERMINER_CHOICE[""].split())
    for names, words in DETERMINER_CHOICE.items():
        chosen |= dict.fromkeys(nouns(names), words.split())
    return {
        noun: (
            tuple(DETERMINER[word] for word in words if word not in ("two", "three")),
            tuple(DETERMINER[word] for word in words),
        )
        for noun, words in chosen.items()
    }


def _times() -> dict[str, Time]:
    fits: dict[str, set[str]] = defaultdict(set)
    for keys, phrases in TIMES.items():
        for phrase in phrases.split(","):
            fits[phrase.strip()].update(key.strip() for key in keys.split(","))
    return {phrase: Time(phrase, frozenset(keys)) for phrase, keys in fits.items()}


DETERMINER = {name: Determiner(*forms.replace("-", "").split(" ")) for name, forms in DETERMINERS.items()}
ENTRIES = _entries()
ADJECTIVES_OF = _by_noun(ADJECTIVES)
MODIFIERS_OF = _modifiers()
DETERMINERS_OF = _determiners()
TIME = _times()
CONJUNCTION = {
    word: Conjunction(main, subordinate, tuple(tenses.split()))
    for words, main, subordinate, tenses in _rows(CONJUNCTIONS)
    for word in words.split()
}


def frame_of(kind: str, verb: str) -> Frame:
    """The first frame of this kind that has the verb, to build a clause by hand."""
    return next(frame for entry, frame in ENTRIES[kind] if entry.base == verb)
