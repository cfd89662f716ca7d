//! Words for prompts where no tokenizer is given: common enough that a typical BPE vocabulary has each of them, with
//! the space before, as one token.

pub(super) const COMMON: &str = "time people way day man thing woman life child world school state family student \
group country problem hand part place case week company system program question work government number night point \
home water room mother area money story fact month lot right study book eye job word business issue side kind head \
house service friend father power hour game line end member law car city community name president team minute idea \
body information back parent face others level office door health person art war history party result change morning \
reason research girl guy moment air teacher force education foot boy age policy music market sense nation plan \
college interest death experience effect use class control field development role effort rate heart drug show leader \
light voice wife police mind price report decision son view relationship town road arm difference value building \
action season society tax director position player record paper space ground form event official matter center couple \
site project activity star table need court oil situation cost industry figure street image phone data picture \
practice piece land product doctor wall patient worker news test movie north love step baby computer type attention \
film tree source organization look window evidence population board field key fire future dog hospital wind island \
river summer winter spring stone bridge garden forest mountain village ocean engine signal network memory process \
machine letter number order color metal glass paper cloud stage frame sound track method theory model layer token \
early late large small young old long little great high different important public able good new first last own other \
make take come see know get give find think tell become leave feel put bring begin keep hold write stand hear let mean \
set meet run pay sit speak lie lead read grow lose fall send build stay cut reach kill raise pass sell decide return";
