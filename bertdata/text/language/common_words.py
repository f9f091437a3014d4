"""The words and letters by which a language is known: its most frequent words, most frequent first, and its letters past a-z.

Languages that short texts cannot distinguish share an entry, under the code of one of them (`ALIKE`).
"""

from __future__ import annotations

__all__ = ["ALIKE", "LETTERS", "WORDS"]

ALIKE = {  # code -> the code whose words it shares
    **dict.fromkeys(("bs", "sh"), "hr"),
    **dict.fromkeys(("nb", "nn"), "no"),
    **dict.fromkeys(("yue", "wuu", "gan", "hak", "lzh", "cmn", "nan"), "zh"),
    **dict.fromkeys(("arz", "ary", "apc"), "ar"),
    "ms": "id", "fil": "tl", "simple": "en", "mo": "ro", "iw": "he", "in": "id", "prs": "fa",
}  # fmt: skip

WORDS = {
    # Latin letters
    "en": "the of and to in a is was that for on as with by he it at from his an were are which be this have had not or but"
    " they their has you her she been one who its all would there we him when if more no will so what up them into about s t",
    "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er hat dass"
    " sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur bis mehr durch man ich",
    "fr": "de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont avec son elle comme ou"
    " mais aux nous sa cette ses été je leur deux même tout on y lui l d qu n s c j être vous dont si sans où ils était",
    "es": "de la que el en y a los del se las por un para con no una su al lo como más o pero sus le ya fue este ha sí porque"
    " esta entre cuando muy sin sobre también me hasta hay donde quien desde todo nos era son él es está tiene dos ser años",
    "it": "di e che la il un a l per in una è non del si le della i con da dei gli come al sono alla più anche nel dal lo delle"
    " ha ma nella su ai questo se o essere era suo ed dalla degli alle loro stato cui ci mi due questa tra quando sua io dell",
    "pt": "de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das tem à seu sua ou ser"
    " quando muito há nos já está eu também só pelo pela até isso ela entre era depois sem mesmo aos seus quem nas me são",
    "nl": "de van het een en in is dat op te zijn met voor niet die aan er om ook als dan maar bij of uit nog naar heeft hij ze"
    " wordt door over ik werd was tot meer je deze zich kan worden haar had wat geen dit hun we wel zou zo al onder hebben",
    "af": "die van en in het is n wat nie te op vir met hy was dat as aan sy om by se ook hulle tot sal word deur ek daar maar"
    " uit na een ons jy kan of hierdie sy haar moet baie oor toe hom wees gaan nog so meer dit geword",
    "sv": "och i att en som det är av på för med den till har de inte om ett men var jag från sig så vi kan hade när man eller"
    " efter vid nu han ut sin också under skulle bara detta mot år över här alla mycket blev upp hon varit denna där genom",
    "da": "og i at det er en til af på for der med som den de har ikke et var fra han vi jeg men sig kan om ved så også eller"
    " efter skal vil blev havde nu hun være når over hvor mange da under år meget dem ud mod kun bliver denne sin op hans to",
    "no": "og i det er på til som en å for av at har med de ikke den han om et fra men jeg var vi seg så kan ved også eller etter"
    " ble skal hadde nå hun være når over der ut år mot mange bare blir denne opp meg dette enn inn noe mer ein ikkje eit frå"
    " vart dei kva",
    "is": "og að í á sem er til við var um en með af ekki fyrir það hann því þá ég þess frá hafa eru þar hún eða þeir verið upp"
    " hefur svo þegar sér fram eftir voru einnig þessi eins úr vera hafi þau þeirra hans mjög nú síðan hennar",
    "fi": "ja on ei oli se että hän myös kuin mutta ovat joka sen tai jos ole vuonna sekä hänen mukaan kun niin olla jotka nyt"
    " kanssa vain ne mitä voi sitä jo tämä minä sitten siitä tämän oli ollut jälkeen ovat siinä olisi hyvin en voidaan koska",
    "et": "ja on ei et oli see kui ka mis ta oma aga või tema kes siis seda nii ning selle välja kuid need ma on veel pärast ole"
    " aastal olid sest nende kas oleks üks juba mida neid mille siin pole tuleb väga kõik peale olnud üle saab",
    "lv": "un ir no par ar tas ka uz kas bija nav viņš pēc arī kā to tā vai pie lai kā bet gada tika tie es tiek līdz gan pat būt"
    " savu šis vairāk ko mēs kur jau viņa pirms citu šo tam ja viens laikā jūs nevar",
    "lt": "ir yra kad į iš su buvo tai ne bet o kaip už po dėl apie taip jis nuo tik prie ar m savo per jo tačiau dar kuris jau"
    " pat buvo metais mes gali būti kurie kai kuri visi šis jie aš labai tuo iki jų ji jei",
    "pl": "w i na z się do nie to jest że o jak po a od za co są przez był dla tym ale oraz tego jego czy ze jako może było tak"
    " już tylko które został gdy była roku który być lub jej przed go także mnie pod sobie bardzo która tej ich jeszcze",
    "cs": "a v se na je že s z o do i to jako za by pro k od ve po ale jsem jeho která nebo podle který jsou byl byla bylo také"
    " tak při aby jen když jeho které až už může mezi však pod co před ze si jak být další která než kde této nebyl tento bylo",
    "sk": "a v na sa je že s z o do i to ako za by pre k od vo po ale som jeho ktorá alebo podľa ktorý sú bol bola bolo tiež tak"
    " pri aby len keď ktoré až už môže medzi však pod čo pred zo si byť ďalší než kde tejto tento nie",
    "sl": "je in v na se da za so z pa ki ne po s kot od bi o do ali ni tudi pri je lahko bil ko bila leta med te še tako ter ga"
    " to iz sem kako biti vse zelo pred svoje tem več bilo zaradi njegov kjer če že vendar potem",
    "hr": "i u je na se da od za su s o kao koji iz a ne bi do ili te sam što po ali koja nije bio biti samo koje godine kako"
    " ako nakon bila ima dok više prema još njegov zbog među kada već svoje pri jer li može bilo tako također nego",
    "hu": "a az és hogy nem is egy van de meg volt csak mint ez ki már még el azt ha le ezt fel én minden itt után lehet kell"
    " szerint vagy vannak ami így mert amely be más között nagyon pedig több első alatt ezek majd voltak nincs őt lesz",
    "ro": "de și în a la cu pe că nu o din se care mai este un să pentru au al ale fost lui sau prin ca dar era cel sunt după"
    " ce le a fi îi ei acest asta mai i între fără iar până lor toate aceasta unei foarte doar său ar unui am",
    "sq": "e të në i dhe me për që një nga u është së si nuk ka kjo më do te por janë ai ky ishte kishte ose edhe ku pas tij pa"
    " shumë kur çdo duke gjatë mund këtë saj disa sipas këto ata tyre vetëm as",
    "tr": "ve bir bu da de için ile o olarak daha çok gibi ne olan kadar ama sonra en ise değil var ben kendi her mi şey göre"
    " ilk iki oldu diye tarafından yıl ya veya ancak onun ki olduğu büyük bunu içinde onu şu yok hiç önce bütün nasıl",
    "az": "və bir bu ilə də üçün da ki o olan daha çox kimi öz isə sonra var onun amma ilə edir olaraq hər idi ildə mən deyil"
    " olunur tərəfindən ən əsas etmək ya sonra həm bütün olmuşdur görə qədər belə nə edən heç",
    "id": "yang dan di dengan untuk ini dari dalam itu pada tidak adalah akan oleh ke sebagai juga ada atau saya mereka dia telah"
    " bisa karena tahun kami kita tersebut anda lebih bahwa menjadi seperti dapat sudah antara ia orang satu hanya secara para"
    " tetapi banyak kepada boleh",
    "vi": "và của là có các được cho không trong một những với người này đã khi để đó từ năm như ra vào đến về cũng tại sự ông"
    " nhiều nhà tôi theo bị phải đây trên thì việc sau hai nhưng lại còn nước mà họ nó anh đầu",
    "tl": "ang ng sa na mga at ay ni si hindi ito para isang nang siya ko ako mo may kung niya pa din o po nila lang bilang"
    " sila kanyang rin dahil kanilang naman noong nito mula ka kay upang bago wala ngunit iyon",
    "sw": "na ya wa kwa ni katika za la kuwa cha hii vya huo hiyo kama watu mwaka yake wake si lakini au hivyo hilo alikuwa bado"
    " pia hadi sana baada kutoka nchi mtu moja tu ambayo wao yao hayo kila wakati huyo ilikuwa pamoja kabla bila mimi",
    "eu": "eta da bat ez izan zen ere du baina dira dute egin zuen hau zuten dituen edo beste hori bere izango baino gabe den"
    " bi artean ziren izaten dago hura arte gero behar oso bezala ditu egiten guztiak duen batean urtean zituen zer",
    "ca": "de la i el a que les en per un els del una es amb no va al més dels com seva és o se seu però són també pel entre"
    " aquest ser fins sobre tot havia molt ha ja hi quan ho sense aquesta on pels anys any després li van això ni perquè",
    "gl": "de a e o que do da en un por con os é unha no as na se para non dos ao como das máis foi á seu pero súa ou tamén nos"
    " sobre polo entre pola unhas ata son cando é está moi ten desde ano onde onda isto eu anos ser este",
    "la": "et in est non ad ut cum quod qui a ex si sed quae de ab per nec atque autem enim hoc esse quam ac etiam aut sunt quo"
    " me te se iam erat quid eius haec tamen ille quia eo nunc pro aliquid neque nihil tibi ante inter sub anno",
    "eo": "la de kaj en estas al ne por ke li estis kun pri kiel el sed mi pli ĝi kiu oni ili jaro ankaŭ tiu ŝi dum per tio"
    " post kiuj aŭ tre sur ĉi inter ties plej sia povas kiam ĝis unu nur havas laŭ multaj pro tiuj",
    "ga": "an na agus a i ar go is bhí le de ag sé leis nach do seo sin chun ach mar nó tá é ní sa ó cé sí faoi iad bliain siad"
    " eile nuair as atá féin muid den don nuair dá má dhá acu bheith idir roimh raibh chuig",
    "cy": "y yn a i o ar yr ac mae ei am wedi gan ond er ei oedd bod fel eu un hyn hefyd fod gyda nid pan ni dim roedd sydd neu"
    " hwn cael dan iawn bu mewn cyn ganddo ond bydd hynny yna gael wrth eich rhai fwy hon",
    "mt": "li ta il ma u dan kien din minn għal jew biex dawn huwa hija wkoll għandu hu fuq wara kif fil tal mill dwar hemm"
    " ġie mhux meta kienet aktar bħala hi kull bejn sena jista lil bil ħafna iżda jien",
    # Cyrillic
    "ru": "и в не на что с он как по к его но это из у от за а был для до же так вы я было ее только или быть мы они бы при во"
    " когда была о со все еще её того этом также года который были их если может мне её после под где чтобы уже ему",
    "uk": "і в на що з у не та до як за про від його це й для а він був по які але або було так є під її також із може при ми"
    " року який були їх щоб ще тільки якщо вже після вона коли через між має мене собі цього де до чи більше",
    "be": "і ў у на з што не да як за па ад яго для гэта а быў але ён або было таксама ці яны пры была пад гэты які якія іх каб"
    " толькі быць вы яшчэ ужо мы гады яе ня пасля ці калі іншых годзе сваёй вельмі гэтага",
    "bg": "на и да в се за от с е не по са като си че до през към или той при който още може беше тя но което ще го има които"
    " след бил която им между му аз също така те само защото тук бяха къде са този тази тези г под много както когато",
    "mk": "на и во да се од за со е не како по до што ќе тој но или ги го а беше биде нивните која кој дека оваа овој нема кои"
    " бил исто има при тие сите поради кога многу помеѓу уште меѓу била само своите едно неговата сум",
    "sr": "и у је на се да од за су с о као који из а не би до или те сам што по али која није био бити само које године како"
    " ако након била има док више према још његов због међу када већ своје при јер ли може било тако такође него",
    "kk": "және мен бұл бір үшін де да болып деп еді бар оның өз ол болған туралы кейін бойынша арқылы сол ең жоқ немесе дейін"
    " сондай болды үлкен бірақ емес жылы қазақ басқа өте олар керек осы бірге көп әр",
    # Arabic letters
    "ar": "في من على إلى أن التي عن مع هذا الذي هذه ما لا كان بعد كما أو بين ذلك عام قد لم وقد كانت كل هو وهو غير حيث منها ولا"
    " هي وهي حتى أنه عند منذ وفي فيها ثم تم أي خلال يكون عليه بعض قبل تلك سنة",
    "fa": "و در به از که این را با است برای آن یک خود تا بر شده او بود هم نیز می ما شد باید کرد ها دو اما هر اند وی سال یا آنها"
    " دارد کند های همه من پس شود نه بین چه هستند پیش اگر وجود دیگر همین بسیار",
    "ur": "کے میں کی ہے اور سے کا کو اس ہیں نے کہ پر یہ بھی ایک کر جو تھا ہو تھے وہ ان تھی نہیں کیا گیا لیے ہوئے تو گئی یا اپنے"
    " ساتھ ہوتا جا دیا بعد جس کچھ لئے ہی ہوں اپنی والے کسی تک سب",
    "ps": "د په او چې له یې دی سره هم دا ته کې دغه شوی نه دي خپل وه کړي کړ شو ده پر هغه به ورته یو څخه شوي یوه لري خپله هغې"
    " کال وو کولو یا اړه پورې وروسته کوي",
    # Devanagari
    "hi": "के में है की से और का को पर हैं यह ने एक भी कि इस नहीं तो ही था हो कर जो वह या लिए थे अपने गया साथ तक बाद उनके किया"
    " थी इसके द्वारा होता उस कुछ जाता दिया हुआ इन कोई सकता रूप अपनी",
    "mr": "आणि या आहे ते व हे तर की त्या आहेत होते एक हा ही होता तो त्यांनी मध्ये नाही त्याच्या काही करून त्यांच्या होती पण"
    " असे येथे साली म्हणून केली केले मी आपल्या किंवा असून जे हें इतर नंतर",
    "ne": "र को छ मा यो पनि हो छन् लागि भने एक गर्ने गरेको थियो भएको गर्न नै भन्ने हुन्छ तर उनले उनी वा त्यो थिए गरी बाट भन्दा"
    " लाई साथै मात्र हुने गर्दै बीच यस के पछि आफ्नो कुनै",
    # Hebrew letters
    "he": "של את על לא הוא עם כי זה גם היה אל היא או כל בין אך אם לאחר רק יותר ידי אני אבל שנת הם זו היו עד הייתה מה כאשר אלה"
    " ביותר יש כך מן בו לו אין אחד להיות שלו הזה אותו כמו כדי",
    "yi": "די און פון איז אין דער צו דאס מיט ער האט אויף וואס א איך נישט זיך זענען אז זיי געווען אויך אן דעם זי ביי נאך פאר"
    " עס ווי אדער מען אבער ווען זיין האבן אים אלע דא זײַן",
}

LETTERS = {
    "en": "", "id": "", "la": "", "sw": "", "tl": "ñ", "eu": "ñ", "af": "êëéôûï",
    "de": "äöüß", "fr": "éèàêçâîôûùëïœ", "es": "óíáéñúü", "it": "èàùòéì", "pt": "ãçéáíóõêúâàô", "nl": "ëéïöè",
    "sv": "äåö", "da": "øåæ", "no": "åøæ", "is": "áíðóúæþöýé", "fi": "äö", "et": "äõüöšž", "lv": "āīēšūņļķžģč",
    "lt": "ėšųįžūčęą", "pl": "łęąóżśćńź", "cs": "áíěřčéžýšůúťďňó", "sk": "áíčýéžšúťľôďňóäĺŕ", "sl": "čšž", "hr": "čšžćđ",
    "hu": "áéöőüóíűú", "ro": "ăîțșâţş", "sq": "ëç", "tr": "ıüşğçöâ", "az": "əıüşğçö", "vi": "đư", "ca": "àéèóòíçúïü·",
    "gl": "áóéíñú", "eo": "ĝĉŭŝĵĥ", "ga": "áíéóú", "cy": "ŵŷâôîê", "mt": "ħġżċ",
    "ru": "ыэъёйщьюя", "uk": "іїєґйщьюя", "be": "іўыэёйьюя", "bg": "ъйщьюя",
    "mk": "јѓќљњџѕ", "sr": "јљњћђџ", "kk": "ығәқңөұүһіэйщьюя",
    "fa": "پچژگکی", "ur": "ہھےںگکیچپٹڈڑژ", "ps": "ېځڅښږټډړګیک", "ar": "ةكيىأإؤئ",
}  # fmt: skip
